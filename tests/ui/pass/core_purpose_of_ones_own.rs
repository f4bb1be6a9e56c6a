//! The twin of `fail/core_purpose_of_ones_own.rs`: one line differs.

use tenancy_core::purpose::DataPurpose;

fn main() {
    struct Mine;
    fn derive<P: DataPurpose>() {}
    fn name<P>() {}
    let _ = (derive::<tenancy_core::purpose::PointId>, name::<Mine>);
    name::<Mine>();
}
