//! From the messages of the wire to the engine's types and back. Every arm of every `oneof` is named: a new one does not
//! compile until somebody has said what it means here.

mod filter;
mod formula;
mod index;
mod point;
mod value;
mod vector;

use tonic::Status;

pub(super) use filter::{filter, geo_point, optional as optional_filter};
pub(super) use formula::formula;
pub(super) use index::field_schema;
pub(super) use point::{
    Selected, order_by, payload_selector, persisted, point_id, retrieved, scored, selected, vector_selector,
    vectors_of, wire_id,
};
pub(super) use value::{payload, wire_payload};
pub(super) use vector::{named, plain};

/// A path into a payload, as the engine reads it.
pub(super) fn path(path: &str) -> Result<qdrant_edge::JsonPath, Status> {
    path.parse().map_err(|()| Status::invalid_argument(format!("unable to parse the path {path}")))
}

/// What is missing in a request.
pub(super) fn missing(what: &str) -> Status {
    Status::invalid_argument(format!("{what} is missing"))
}

/// What the engine said, under the code that a server gives it.
pub(super) fn refused(error: qdrant_edge::OperationError) -> Status {
    use qdrant_edge::OperationError as Error;
    let text = error.to_string();
    match error {
        Error::PointIdError { .. } => Status::not_found(text),
        Error::WrongVectorDimension { .. }
        | Error::VectorNameNotExists { .. }
        | Error::TypeError { .. }
        | Error::TypeInferenceError { .. }
        | Error::ValidationError { .. }
        | Error::WrongSparse
        | Error::WrongMulti
        | Error::MissingRangeIndexForOrderBy { .. }
        | Error::MissingMapIndexForFacet { .. }
        | Error::VariableTypeError { .. }
        | Error::NonFiniteNumber { .. } => Status::invalid_argument(text),
        Error::Cancelled { .. } => Status::cancelled(text),
        Error::Timeout { .. } => Status::deadline_exceeded(text),
        Error::OutOfMemory { .. } => Status::resource_exhausted(text),
        Error::ServiceError { .. } | Error::InconsistentStorage { .. } => Status::internal(text),
    }
}
