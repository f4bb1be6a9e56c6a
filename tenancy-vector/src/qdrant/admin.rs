//! Collections, their indexes and their shards: made, looked at and dropped. What a tenant is never asked about.

use qdrant_client::qdrant as pb;

use super::backend::QdrantBackend;
use super::channel::{About, Again, Clients, Failure};
use super::error::{Drift, QdrantError};
use super::layout::{Place, QdrantLayout};
use super::writes::completed;
use super::{drift, schema};
use crate::error::BackendError;
use crate::schema::Schema;

impl QdrantBackend {
    pub(super) async fn ensure_collection(&self, collection: &str, schema: &Schema) -> Result<(), QdrantError> {
        let fresh = !self.exists(collection).await? && self.create(collection, schema).await?;
        let info = self.info(collection).await?;
        let missing = drift::compare(schema, self.layout.sharding(), self.link.seconds(), &info)?;
        if missing.tenant_index {
            if !fresh && info.points_count != Some(0) {
                return Err(Drift::TenantIndex.into());
            }
            self.create_index(schema::tenant_index(collection)).await?;
        }
        for (key, kind) in missing.indexes {
            self.create_index(schema::payload_index(collection, key.as_str(), kind)).await?;
        }
        // A server that took the request and made something else.
        let info = self.info(collection).await?;
        let missing = drift::compare(schema, self.layout.sharding(), self.link.seconds(), &info)?;
        if missing.tenant_index { Err(Drift::TenantIndex.into()) } else { Ok(()) }
    }

    pub(super) async fn exists(&self, collection: &str) -> Result<bool, QdrantError> {
        let request = pb::CollectionExistsRequest { collection_name: collection.to_owned() };
        let answer = self.admin(collection, request, |clients, request| async move {
            clients.collections().collection_exists(request).await
        });
        Ok(answer.await.map_err(Failure::into_error)?.result.ok_or(QdrantError::Incomplete)?.exists)
    }

    /// Whether it was made just now, and not by another process at the same time.
    pub(super) async fn create(&self, collection: &str, schema: &Schema) -> Result<bool, QdrantError> {
        let request = self.layout.create(collection, schema);
        let created = self
            .admin(collection, request, |clients, request| async move { clients.collections().create(request).await });
        match created.await {
            Ok(answer) => Ok(answer.result),
            Err(failure) if failure.is_there() => Ok(false),
            Err(failure) => Err(failure.into_error()),
        }
    }

    pub(super) async fn info(&self, collection: &str) -> Result<pb::CollectionInfo, QdrantError> {
        let request = pb::GetCollectionInfoRequest { collection_name: collection.to_owned() };
        let info =
            self.admin(collection, request, |clients, request| async move { clients.collections().get(request).await });
        info.await.map_err(Failure::into_error)?.result.ok_or(QdrantError::Incomplete)
    }

    pub(super) async fn create_index(&self, request: pb::CreateFieldIndexCollection) -> Result<(), QdrantError> {
        let collection = request.collection_name.clone();
        let done = self.admin(&collection, request, |clients, request| async move {
            clients.points().create_field_index(request).await
        });
        completed(done.await.map_err(Failure::into_error)?.result.as_ref())
    }

    /// What concerns all lives, and is the same when it is done twice.
    pub(super) async fn admin<Q: Clone + Send, A: Send, F>(
        &self,
        collection: &str,
        request: Q,
        send: impl Fn(Clients, tonic::Request<Q>) -> F + Send + Sync,
    ) -> Result<A, Failure>
    where
        F: Future<Output = Result<tonic::Response<A>, tonic::Status>> + Send,
    {
        self.link.call(About { collection, life: None }, Again::May, request, send).await
    }

    /// Makes the place of a life.
    pub(super) async fn make(&self, place: &Place, schema: &Schema) -> Result<(), BackendError> {
        match (&self.layout, place.key()) {
            (QdrantLayout::Shared { .. }, _) => Ok(()),
            (QdrantLayout::Collections { .. }, _) => Ok(self.ensure_collection(&place.collection, schema).await?),
            (QdrantLayout::ShardKeys { .. }, key) => {
                if self.has_shard(place).await? {
                    return Ok(());
                }
                let request = pb::CreateShardKeyRequest {
                    collection_name: place.collection.clone(),
                    request: Some(pb::CreateShardKey { shard_key: key, ..pb::CreateShardKey::default() }),
                    timeout: Some(self.link.seconds()),
                };
                let made = self.admin(&place.collection, request, |clients, request| async move {
                    clients.collections().create_shard_key(request).await
                });
                match made.await {
                    Ok(answer) if answer.result => Ok(()),
                    Ok(_) => Err(QdrantError::NotCompleted.into()),
                    Err(failure) if failure.is_there() => Ok(()),
                    Err(failure) => Err(failure.into()),
                }
            }
        }
    }

    /// Whether a life has the place that is its own. That of all lives is there, or nothing is.
    pub(super) async fn is_made(&self, place: &Place) -> Result<bool, BackendError> {
        match &self.layout {
            QdrantLayout::Shared { .. } => Ok(true),
            QdrantLayout::Collections { .. } => Ok(self.exists(&place.collection).await?),
            QdrantLayout::ShardKeys { .. } => self.has_shard(place).await,
        }
    }

    pub(super) async fn has_shard(&self, place: &Place) -> Result<bool, BackendError> {
        let request = pb::ListShardKeysRequest { collection_name: place.collection.clone() };
        let listed = self.admin(&place.collection, request, |clients, request| async move {
            clients.collections().list_shard_keys(request).await
        });
        let listed = listed.await?;
        Ok(listed.shard_keys.iter().any(|found| found.key.is_some() && found.key == place.key()))
    }

    pub(super) async fn drop_place(&self, place: &Place) -> Result<(), BackendError> {
        match &self.layout {
            QdrantLayout::Shared { .. } => self.delete_all(place).await,
            QdrantLayout::Collections { .. } => {
                let timeout = Some(self.link.seconds());
                let request = pb::DeleteCollection { collection_name: place.collection.clone(), timeout };
                let gone = self.admin(&place.collection, request, |clients, request| async move {
                    clients.collections().delete(request).await
                });
                match gone.await {
                    // False: there was none.
                    Ok(_) => Ok(()),
                    Err(failure) if failure.is_absent() => Ok(()),
                    Err(failure) => Err(failure.into()),
                }
            }
            QdrantLayout::ShardKeys { .. } => {
                if !self.has_shard(place).await? {
                    return Ok(());
                }
                let request = pb::DeleteShardKeyRequest {
                    collection_name: place.collection.clone(),
                    request: Some(pb::DeleteShardKey { shard_key: place.key() }),
                    timeout: Some(self.link.seconds()),
                };
                let gone = self.admin(&place.collection, request, |clients, request| async move {
                    clients.collections().delete_shard_key(request).await
                });
                match gone.await {
                    Ok(_) => Ok(()),
                    // Asked again after an answer that was lost, a server calls a key that is gone an invalid one.
                    Err(_) if !self.has_shard(place).await? => Ok(()),
                    Err(failure) => Err(failure.into()),
                }
            }
        }
    }

    /// Deletes every point of a life: again while a write that was taken before goes on being done, and while the server
    /// fails but fewer are left. It fails once on each point that it can't read, and has forgotten whose it was by then.
    async fn delete_all(&self, place: &Place) -> Result<(), BackendError> {
        let (mut least, mut tries) = (u64::MAX, TRIES);
        loop {
            let deleted = self.update(place, Again::May, vec![place.delete_all()]).await;
            let left = self.left(place).await?;
            if left == 0 {
                return Ok(());
            }
            if left < least {
                (least, tries) = (left, TRIES);
            }
            tries -= 1;
            if tries == 0 {
                return deleted.and(Err(QdrantError::NotCompleted.into()));
            }
        }
    }
}

const TRIES: usize = 3;
