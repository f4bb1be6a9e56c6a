//! The listening end, on a connection of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use tenancy_core::purpose::Message;
use tenancy_core::{Pass, Zeroizing};
use tokio::sync::OwnedSemaphorePermit;

use super::{SCHEMA, fields, name, text};
use crate::error::PgError;
use crate::tenant_db::TenantDb;

/// Listens to one channel of one tenant, on a connection that serves nothing else.
pub struct TenantListener {
    pass: Pass,
    channel: String,
    name: String,
    listener: PgListener,
    missed: bool,
    _place: OwnedSemaphorePermit,
}

/// What a listener heard.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heard {
    /// A message of this tenant's. Wiped from memory when dropped.
    Message(Zeroizing<Vec<u8>>),
    /// The connection was lost and is there again: what was sent meanwhile was not heard. Look at the state itself.
    MayHaveMissed,
}

impl TenantDb {
    /// Listens to a channel that [`notify`](crate::TenantTx::notify) sends into. What was sent before it answers is not
    /// heard. Dropped before it answers: nothing is left behind.
    ///
    /// # Errors
    /// [`PgError::Denied`], recorded; [`PgError::Busy`] when as many listeners as a database has places for are there
    /// (16); [`PgError::NeedsSessions`] behind a transaction pooler, which would give the session away;
    /// [`PgError::Inspection`], or [`PgError`] when it can't connect.
    pub async fn listen(&self, channel: &str) -> Result<TenantListener, PgError> {
        let entered = self.pass().enter("pg.listen").await?;
        let shared = self.shared();
        let listening = async {
            shared.ensure_inspected()?;
            if !shared.options.pooler_of().keeps_sessions() {
                return Err(PgError::NeedsSessions);
            }
            let place = Arc::clone(&shared.listeners).try_acquire_owned().map_err(|_| PgError::Busy)?;
            let name = name(self.context(), channel)?;
            let options = shared.options.connect_options();
            let own = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
            let mut listener = PgListener::connect_with(&own).await?;
            // The loss is told first and mended by the next call, so that a dropped future can't swallow it.
            listener.eager_reconnect(false);
            listener.listen(&name).await?;
            Ok((place, name, listener))
        };
        match listening.await {
            Ok((place, name, listener)) => {
                entered.done();
                let (pass, channel) = (self.pass().clone(), channel.to_owned());
                Ok(TenantListener { pass, channel, name, listener, missed: false, _place: place })
            }
            Err(error) => {
                entered.failed();
                Err(error)
            }
        }
    }
}

impl TenantListener {
    /// The next message. Checks the deadline and the tenant's standing before each one, and once a second while none
    /// comes. What does not open is no message of the tenant's: it is on record and passed over. Dropped before it
    /// answers: nothing is lost.
    ///
    /// # Errors
    /// [`PgError::Denied`] when the context may not be used any more, recorded. [`PgError`] while the connection can't be
    /// had again; the next call tries once more, and says [`Heard::MayHaveMissed`] when it is there.
    pub async fn next(&mut self) -> Result<Heard, PgError> {
        loop {
            self.pass.context().refresh().await?;
            if self.missed {
                self.listener.listen(&self.name).await?;
                self.missed = false;
                return Ok(Heard::MayHaveMissed);
            }
            let wait = self.pass.context().remaining().min(LOOK);
            match tokio::time::timeout(wait, self.listener.try_recv()).await {
                Err(_nothing_yet) => {}
                Ok(Ok(None)) => self.missed = true,
                Ok(Ok(Some(heard))) => {
                    if let Some(message) = self.open(heard.payload()) {
                        return Ok(Heard::Message(message));
                    }
                }
                Ok(Err(error)) => {
                    self.missed = true;
                    return Err(error.into());
                }
            }
        }
    }

    fn open(&self, payload: &str) -> Option<Zeroizing<Vec<u8>>> {
        // What is no hex opens as little as no bytes at all, and is recorded as that.
        let sealed = text::from_hex(payload).unwrap_or_default();
        self.pass.context().open::<Message>(SCHEMA, &fields(&self.channel), &sealed).ok()
    }
}

impl fmt::Debug for TenantListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantListener({:?})", self.pass.context().life())
    }
}

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => write!(f, "Message({} bytes)", message.len()),
            Self::MayHaveMissed => f.write_str("MayHaveMissed"),
        }
    }
}

/// How often the standing is looked at while nothing comes.
const LOOK: Duration = Duration::from_secs(1);
