//! Channels of one tenant: `NOTIFY` and `LISTEN` under names nobody can guess, with sealed messages.

mod listener;
mod text;

use tenancy_core::Fields;
use tenancy_core::TenantContext;
use tenancy_core::purpose::{Channel, Message};

pub use listener::{Heard, TenantListener};

use crate::error::PgError;
use crate::tenant_tx::TenantTx;

impl TenantTx<'_> {
    /// Sends a message into a channel of this tenant's when the transaction commits, to whoever
    /// [listens](crate::TenantDb::listen) at that moment. Equal messages of one transaction are several.
    ///
    /// Postgres shows the names of channels to their listeners only, and lets everybody send into any: the name is
    /// derived from the life and `channel` with a key, and the message is sealed, so what was not sent by this tenant
    /// does not open. Dropped before it answers: as any statement of the transaction.
    ///
    /// # Errors
    /// [`PgError::MessageTooLong`] for more than 3,800 bytes: send a reference. Or as any statement of the transaction.
    pub async fn notify(&mut self, channel: &str, message: &[u8]) -> Result<(), PgError> {
        if message.len() > LONGEST {
            return Err(PgError::MessageTooLong);
        }
        let context = self.pass().context();
        let sealed = context.seal::<Message>(SCHEMA, &fields(channel), None, message)?;
        let (name, payload) = (name(context, channel)?, text::hex(sealed.as_bytes()));
        sqlx::query("select pg_catalog.pg_notify($1, $2)").bind(name).bind(payload).execute(&mut *self).await?;
        Ok(())
    }
}

fn fields(channel: &str) -> Fields {
    let mut fields = Fields::new();
    fields.text(1, channel);
    fields
}

/// All 32 bytes, in a form that is short enough for a name.
fn name(context: &TenantContext, channel: &str) -> Result<String, PgError> {
    let digest = context.derive::<Channel>(&fields(channel))?;
    Ok(format!("tenancy_{}", text::base32(digest.as_bytes())))
}

const SCHEMA: u16 = 1;
/// A payload has 7,999 bytes at most; sealing takes 91, and each byte is two digits.
const LONGEST: usize = 3800;
