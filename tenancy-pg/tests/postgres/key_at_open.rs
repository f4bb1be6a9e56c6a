//! A signing key that the database does not accept is found out before anybody is served with it.

use std::time::Duration;

use secrecy::ExposeSecret;
use tenancy_pg::{
    Database, Inspected, OnFailure, PgError, PgOptions, SigningKey, SigningKeys, retire_key_sql, signing_key_sql,
};

use crate::common::{ACME, bodies};
use crate::sealed::Sealed;

impl Sealed {
    async fn opened(&self, keys: &SigningKeys) -> Result<Database<Inspected>, PgError> {
        let options = PgOptions::new(self.server.app_options()).max_connections(1).signed(keys.clone());
        Database::open(self.tenants.realm(), options, &self.declaration).await
    }

    async fn add(&self, key: &SigningKey) {
        self.server.run(signing_key_sql(key).expose_secret()).await;
    }
}

fn refused<T>(opened: Result<T, PgError>) -> Option<String> {
    match opened {
        Ok(_) => None,
        Err(PgError::SigningKey(id)) => Some(id.as_str().to_owned()),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_key_that_the_database_does_not_accept_opens_nothing() {
    let world = Sealed::new().await;
    let (second, third) = (SigningKey::generate(), SigningKey::generate());
    let of_text = |id: &str, secret: &str| SigningKey::parse(&format!("{id}.{secret}")).unwrap();
    let known = world.key.expose();
    let secret = known.expose_secret().split_once('.').unwrap().1;
    let id = world.key.id().as_str();
    for (what, key) in [
        ("a key of its own making", SigningKey::generate()),
        ("another key under the known id", of_text(id, &"00".repeat(32))),
        ("the known key under another id", of_text("another0", secret)),
        ("the known id in other letters", of_text(&id.to_uppercase(), secret)),
        ("the next key, which nobody added yet", second.clone()),
    ] {
        let opened = world.opened(&SigningKeys::new(key.clone())).await;
        assert_eq!(refused(opened).as_deref(), Some(key.id().as_str()), "{what}");
    }
    let error = world.opened(&SigningKeys::new(third.clone())).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    let hex = third.expose().expose_secret().split_once('.').unwrap().1.to_owned();
    assert!(shown.contains(third.id().as_str()) && !shown.contains(&hex), "{shown}");

    // The positive controls: the key that is there, and the next one once it is.
    let first = world.opened(&SigningKeys::new(world.key.clone())).await.unwrap();
    assert_eq!(bodies(&world.scoped(&first, "acme").await).await, ACME);
    world.add(&second).await;
    let next = world.opened(&SigningKeys::new(second.clone())).await.unwrap();
    assert_eq!(bodies(&world.scoped(&next, "acme").await).await, ACME);
    world.server.run(&retire_key_sql(world.key.id())).await;
    assert!(refused(world.opened(&SigningKeys::new(world.key.clone())).await).is_some(), "retired");
    assert_eq!(bodies(&world.scoped(&next, "acme").await).await, ACME);
}

/// A rotation in the wrong order is told by the next look, and mended by the right key.
#[tokio::test]
async fn a_service_that_goes_over_too_early_is_told() {
    let world = Sealed::new().await;
    let keys = SigningKeys::new(world.key.clone());
    let database = world.opened(&keys).await.unwrap();
    let acme = world.scoped(&database, "acme").await;
    let next = SigningKey::generate();
    keys.sign_with(next.clone());
    assert_eq!(refused(database.reinspect().await).as_deref(), Some(next.id().as_str()));
    sqlx::query("select body from note").fetch_all(&acme).await.unwrap_err();

    let alarms = async || {
        let records = world.tenants.audit().await;
        records.iter().filter(|r| r.rule() == Some("pg.signing_key")).map(|r| r.count()).sum::<u64>()
    };
    let watch = database.watch(Duration::from_millis(20), OnFailure::Refuse);
    for _wait in 0..500 {
        if alarms().await > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(watch);
    assert!(alarms().await > 0, "a watch tells it too");

    world.add(&next).await;
    assert_eq!(refused(database.reinspect().await), None);
    assert_eq!(bodies(&acme).await, ACME);
}
