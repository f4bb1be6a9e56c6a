//! A user's own type is no purpose of a key.

use tenancy_core::purpose::DataPurpose;

fn main() {
    struct Mine;
    fn derive<P: DataPurpose>() {}
    fn name<P>() {}
    let _ = (derive::<tenancy_core::purpose::PointId>, name::<Mine>);
    derive::<Mine>();
}
