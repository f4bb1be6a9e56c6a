//! Ways out of a tenant that somebody thought of, one by one: each is tried beside a neighbour whose points would show, and
//! with the same call where it is allowed. On the plain back end, and over the wire.
#![expect(clippy::unwrap_used, reason = "a test that can't go on must stop")]

#[expect(dead_code, reason = "the other cases have tests of their own")]
#[path = "../cases/mod.rs"]
mod cases;
#[expect(dead_code, reason = "the other cases have tests of their own")]
#[path = "../cases/shared.rs"]
mod corpora;
mod cursors;
mod depth;
mod ends;
#[path = "../cases/fake.rs"]
mod fake;
mod filters;
mod house;
mod ids;
mod lies;
mod limits;
mod models;
mod owners;
mod queries;
mod spy;
mod tag;
mod weights;

macro_rules! on_each_back_end {
    ($($file:ident::$case:ident;)*) => {
        mod plain {
            use crate::house::{House, in_time};
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    in_time(async { crate::$file::$case(House::plain().await).await }).await;
                }
            )*
        }

        #[cfg(feature = "qdrant")]
        mod wire {
            use crate::house::{House, in_time};
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    in_time(async { crate::$file::$case(House::wire().await).await }).await;
                }
            )*
        }
    };
}

on_each_back_end! {
    ids::ids_that_no_eye_tells_apart;
    tag::keys_that_only_look_like_the_tag;
    tag::the_tag_under_another_roof;
    tag::a_payload_emptied_in_every_way_keeps_its_tag;
    depth::payloads_at_the_edge_of_the_depth;
    depth::a_path_can_be_read_again;
    filters::filters_that_try_to_widen;
    filters::changes_by_filters_that_try_to_widen;
    queries::examples_in_every_place;
    queries::formulas_read_ones_own;
    cursors::cursors_that_moved;
    limits::limits_that_are_reached_by_adding_up;
    limits::numbers_at_the_edge;
    ends::a_life_that_is_gone_with_its_handles;
}
