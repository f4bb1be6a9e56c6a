//! The traits that a server of Qdrant implements, method by method. The compiler sees to it that none is left out.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;

use qdrant_client::qdrant as pb;
use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::points_server::Points;
use qdrant_client::qdrant::qdrant_server::Qdrant;
use tonic::{Request, Response, Status};

use super::fault::WireFault;
use super::server::Shared;
use super::version::Forget;
use super::{collections, reads, writes};

/// What the traits are implemented for.
#[derive(Clone)]
pub(super) struct Service(pub(super) Arc<Shared>);

/// Implements a trait of `qdrant-client`: what is served goes to a function of ours, all else is UNIMPLEMENTED. Each
/// method is one line, so that the lists below are the whole truth.
macro_rules! service {
    (
        $service:ident, $served:ident, $refused:ident;
        reads { $($read:ident $read_name:literal: $read_in:ident => $read_out:ident = $read_by:path;)* }
        writes { $($write:ident $write_name:literal: $write_in:ident => $write_out:ident = $write_by:path;)* }
        refuses { $($refuse:ident $refuse_name:literal: $refuse_in:ident => $refuse_out:ident;)* }
    ) => {
        const $served: &[&str] = &[
            $(concat!(stringify!($service), "/", $read_name),)*
            $(concat!(stringify!($service), "/", $write_name),)*
        ];

        const $refused: &[&str] = &[$(concat!(stringify!($service), "/", $refuse_name),)*];

        #[tonic::async_trait]
        impl $service for Service {
            $(async fn $read(&self, request: Request<pb::$read_in>) -> Result<Response<pb::$read_out>, Status> {
                let name = concat!(stringify!($service), "/", $read_name);
                self.serve(name, request, |shared, request| $read_by(&*shared.reading(), request)).await
            })*
            $(async fn $write(&self, request: Request<pb::$write_in>) -> Result<Response<pb::$write_out>, Status> {
                let name = concat!(stringify!($service), "/", $write_name);
                self.serve(name, request, |shared, request| $write_by(&mut *shared.writing(), request)).await
            })*
            $(async fn $refuse(&self, request: Request<pb::$refuse_in>) -> Result<Response<pb::$refuse_out>, Status> {
                let name = concat!(stringify!($service), "/", $refuse_name);
                self.refuse(name, request)
            })*
        }
    };
}

service! {
    Points, SERVED_POINTS, REFUSED_POINTS;
    reads {
        get "Get": GetPoints => GetResponse = reads::get;
        scroll "Scroll": ScrollPoints => ScrollResponse = reads::scroll;
        count "Count": CountPoints => CountResponse = reads::count;
        query "Query": QueryPoints => QueryResponse = reads::query;
        query_batch "QueryBatch": QueryBatchPoints => QueryBatchResponse = reads::query_batch;
        facet "Facet": FacetCounts => FacetResponse = reads::facet;
    }
    writes {
        upsert "Upsert": UpsertPoints => PointsOperationResponse = writes::upsert;
        delete "Delete": DeletePoints => PointsOperationResponse = writes::delete;
        update_vectors "UpdateVectors": UpdatePointVectors => PointsOperationResponse = writes::update_vectors;
        delete_vectors "DeleteVectors": DeletePointVectors => PointsOperationResponse = writes::delete_vectors;
        set_payload "SetPayload": SetPayloadPoints => PointsOperationResponse = writes::set_payload;
        overwrite_payload "OverwritePayload": SetPayloadPoints => PointsOperationResponse = writes::overwrite_payload;
        delete_payload "DeletePayload": DeletePayloadPoints => PointsOperationResponse = writes::delete_payload;
        clear_payload "ClearPayload": ClearPayloadPoints => PointsOperationResponse = writes::clear_payload;
        update_batch "UpdateBatch": UpdateBatchPoints => UpdateBatchResponse = writes::update_batch;
        create_field_index "CreateFieldIndex": CreateFieldIndexCollection => PointsOperationResponse
            = writes::create_field_index;
        delete_field_index "DeleteFieldIndex": DeleteFieldIndexCollection => PointsOperationResponse
            = writes::delete_field_index;
    }
    refuses {
        create_vector_name "CreateVectorName": CreateVectorNameRequest => PointsOperationResponse;
        delete_vector_name "DeleteVectorName": DeleteVectorNameRequest => PointsOperationResponse;
        search "Search": SearchPoints => SearchResponse;
        search_batch "SearchBatch": SearchBatchPoints => SearchBatchResponse;
        search_groups "SearchGroups": SearchPointGroups => SearchGroupsResponse;
        recommend "Recommend": RecommendPoints => RecommendResponse;
        recommend_batch "RecommendBatch": RecommendBatchPoints => RecommendBatchResponse;
        recommend_groups "RecommendGroups": RecommendPointGroups => RecommendGroupsResponse;
        discover "Discover": DiscoverPoints => DiscoverResponse;
        discover_batch "DiscoverBatch": DiscoverBatchPoints => DiscoverBatchResponse;
        query_groups "QueryGroups": QueryPointGroups => QueryGroupsResponse;
        search_matrix_pairs "SearchMatrixPairs": SearchMatrixPoints => SearchMatrixPairsResponse;
        search_matrix_offsets "SearchMatrixOffsets": SearchMatrixPoints => SearchMatrixOffsetsResponse;
    }
}

service! {
    Collections, SERVED_COLLECTIONS, REFUSED_COLLECTIONS;
    reads {
        get "Get": GetCollectionInfoRequest => GetCollectionInfoResponse = collections::get;
        list "List": ListCollectionsRequest => ListCollectionsResponse = collections::list;
        collection_exists "CollectionExists": CollectionExistsRequest => CollectionExistsResponse = collections::exists;
        collection_cluster_info "CollectionClusterInfo": CollectionClusterInfoRequest => CollectionClusterInfoResponse
            = collections::cluster;
        list_shard_keys "ListShardKeys": ListShardKeysRequest => ListShardKeysResponse = collections::list_shard_keys;
    }
    writes {
        create "Create": CreateCollection => CollectionOperationResponse = collections::create;
        update "Update": UpdateCollection => CollectionOperationResponse = collections::update;
        delete "Delete": DeleteCollection => CollectionOperationResponse = collections::delete;
        update_collection_cluster_setup "UpdateCollectionClusterSetup": UpdateCollectionClusterSetupRequest
            => UpdateCollectionClusterSetupResponse = collections::set_up;
        create_shard_key "CreateShardKey": CreateShardKeyRequest => CreateShardKeyResponse
            = collections::create_shard_key;
        delete_shard_key "DeleteShardKey": DeleteShardKeyRequest => DeleteShardKeyResponse
            = collections::delete_shard_key;
    }
    refuses {
        update_aliases "UpdateAliases": ChangeAliases => CollectionOperationResponse;
        list_collection_aliases "ListCollectionAliases": ListCollectionAliasesRequest => ListAliasesResponse;
        list_aliases "ListAliases": ListAliasesRequest => ListAliasesResponse;
    }
}

#[tonic::async_trait]
impl Qdrant for Service {
    async fn health_check(
        &self,
        request: Request<pb::HealthCheckRequest>,
    ) -> Result<Response<pb::HealthCheckReply>, Status> {
        let health = |shared: &Shared, _| {
            let title = "qdrant - vector search engine".to_owned();
            Ok(pb::HealthCheckReply { title, version: shared.version(), commit: None })
        };
        self.serve(HEALTH_CHECK, request, health).await
    }
}

const HEALTH_CHECK: &str = "Qdrant/HealthCheck";

/// The methods that a [`QdrantServer`](super::QdrantServer) serves, service by service. Every other answers UNIMPLEMENTED.
pub const SERVED: [&[&str]; 3] = [SERVED_POINTS, SERVED_COLLECTIONS, &[HEALTH_CHECK]];

/// The methods of the same services that it does not serve.
pub const REFUSED: [&[&str]; 2] = [REFUSED_POINTS, REFUSED_COLLECTIONS];

impl Service {
    /// Records the request, suffers what is planned for it, drops what the version does not know, and runs it.
    async fn serve<Q, A>(
        &self,
        method: &'static str,
        request: Request<Q>,
        run: impl FnOnce(&Shared, Q) -> Result<A, Status> + Send + 'static,
    ) -> Result<Response<A>, Status>
    where
        Q: Forget + Clone + Debug + Send + Sync + 'static,
        A: Answer,
    {
        let peer = request.remote_addr();
        let (headers, _, mut message) = request.into_parts();
        self.0.record.add(method, headers.clone(), message.clone());
        self.0.admit(&headers)?;
        let fault = self.0.faults.take(method);
        match &fault {
            Some(WireFault::CutBefore) => return self.cut(peer).await,
            Some(WireFault::Delay(time)) => tokio::time::sleep(*time).await,
            Some(fault) => fault.refusal().map_or(Ok(()), Err)?,
            None => {}
        }
        let rejected = matches!(&fault, Some(WireFault::Answer(pb::UpdateStatus::ClockRejected)));
        let mut answer = if rejected {
            A::default()
        } else {
            message.forget(self.0.version_numbers());
            let shared = Arc::clone(&self.0);
            let done = tokio::task::spawn_blocking(move || run(&shared, message)).await;
            done.map_err(|_| Status::internal("the engine panicked"))??
        };
        match fault {
            Some(WireFault::CutAfter) => return self.cut(peer).await,
            Some(WireFault::Answer(status)) => answer.set_status(status),
            Some(WireFault::Refuse(_) | WireFault::CutBefore | WireFault::Delay(_)) | None => {}
        }
        Ok(Response::new(answer))
    }

    fn refuse<Q, A>(&self, method: &'static str, request: Request<Q>) -> Result<Response<A>, Status>
    where
        Q: Debug + Send + Sync + 'static,
    {
        let (headers, _, message) = request.into_parts();
        self.0.record.add(method, headers, message);
        Err(Status::unimplemented(format!("{method} is not served by this test server")))
    }

    /// Closes the connection. Nothing is answered: whoever waits for it is gone.
    async fn cut<A>(&self, peer: Option<SocketAddr>) -> Result<Response<A>, Status> {
        self.0.cut(peer);
        std::future::pending().await
    }
}

/// What is answered.
trait Answer: Default + Send + 'static {
    /// Only the answers to writes have a status.
    fn set_status(&mut self, _status: pb::UpdateStatus) {}
}

macro_rules! answers {
    ($($message:ident)*) => {
        $(impl Answer for pb::$message {})*
    };
}

answers! {
    GetResponse ScrollResponse CountResponse QueryResponse QueryBatchResponse FacetResponse GetCollectionInfoResponse
    ListCollectionsResponse CollectionExistsResponse CollectionClusterInfoResponse ListShardKeysResponse
    CollectionOperationResponse UpdateCollectionClusterSetupResponse CreateShardKeyResponse DeleteShardKeyResponse
    HealthCheckReply
}

impl Answer for pb::PointsOperationResponse {
    fn set_status(&mut self, status: pb::UpdateStatus) {
        self.result.get_or_insert_default().set_status(status);
    }
}

impl Answer for pb::UpdateBatchResponse {
    fn set_status(&mut self, status: pb::UpdateStatus) {
        if self.result.is_empty() {
            self.result.push(pb::UpdateResult::default());
        }
        self.result.iter_mut().for_each(|result| result.set_status(status));
    }
}
