//! Cells: instances of one kind of store, each in a region, chosen by the tenant's placement.

use crate::context::TenantContext;
use crate::denial::Denial;
use crate::id::{CellName, Region, StoreName};

/// The instances of one kind of store. A service with a single one passes it as it is: `impl Into<Cells<T>>`.
#[derive(Clone, Debug)]
pub struct Cells<T> {
    cells: Vec<Cell<T>>,
}

#[derive(Clone, Debug)]
struct Cell<T> {
    name: Option<CellName>,
    /// `None`: the realm's own region.
    region: Option<Region>,
    store: T,
}

impl<T> Cells<T> {
    /// No cells yet. [`pick`](Self::pick) denies until there is one.
    #[must_use]
    pub const fn new() -> Self {
        Self { cells: Vec::new() }
    }

    /// Adds a named cell in a region.
    #[must_use]
    pub fn cell(mut self, name: CellName, region: Region, store: T) -> Self {
        self.cells.push(Cell { name: Some(name), region: Some(region), store });
        self
    }

    /// The instance for a tenant: the cell that its placement names for this store, or the first one in its region.
    ///
    /// # Errors
    /// [`Denial::WrongRegion`], recorded, when the named cell is not there or lies in another region, or when no cell
    /// lies in the tenant's region.
    pub fn pick(&self, store: StoreName, context: &TenantContext) -> Result<&T, Denial> {
        let own = &context.inner().realm.settings.region;
        let placement = context.record().placement();
        let home = placement.region.as_ref().unwrap_or(own);
        let named = placement.cells.get(store.as_str());
        self.cells
            .iter()
            .filter(|cell| cell.region.as_ref().unwrap_or(own) == home)
            .find(|cell| named.is_none() || cell.name.as_ref() == named)
            .map(|cell| &cell.store)
            .ok_or_else(|| context.deny("cell", Denial::WrongRegion))
    }
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for Cells<T> {
    fn from(store: T) -> Self {
        Self { cells: vec![Cell { name: None, region: None, store }] }
    }
}
