//! The twins that must compile, and the checks that each claim is whole: a file that fails, the message, a twin that
//! differs in one line, and a row in `docs/claims.md`.
#![expect(clippy::unwrap_used, reason = "without its files the test must stop")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Compiles each file of `pass` as a module of this test. (As programs of their own they would need every dependency
/// built a second time.)
macro_rules! twins {
    ($($name:ident),* $(,)?) => {
        #[path = "../pass"]
        mod pass {$(
            #[expect(dead_code, reason = "it is compiled, never run")]
            mod $name;
        )*}
        const TWINS: &[&str] = &[$(stringify!($name)),*];
    };
}

twins! {
    cache_back_end_taken_out,
    cache_embedding_parts_without_model,
    cache_engine_body_without_salt,
    cache_engine_parts_without_visibility,
    cache_engine_salt_from_text,
    cache_engine_salt_made,
    cache_engine_salt_printed,
    cache_engine_salt_random,
    cache_handle_by_literal,
    cache_key_by_literal,
    cache_key_deserialized,
    cache_key_from_bytes,
    cache_key_from_text,
    cache_key_by_the_parts,
    cache_key_new,
    cache_key_serialized,
    cache_layer_by_literal,
    cache_moment_by_literal,
    cache_moment_read,
    cache_parts_by_default,
    cache_parts_of_ones_own,
    cache_parts_without_visibility,
    cache_response_parts_without_endpoint,
    cache_retrieval_parts_without_filter,
    cache_scope_by_literal,
    cache_scope_copied,
    cache_scope_kept,
    cache_semantic_for_another_type,
    cache_semantic_parts_without_embedding,
    cache_semantic_slot_used_twice,
    cache_semantic_unscoped,
    cache_similarity_by_literal,
    cache_similarity_not_less,
    cache_slot_by_literal,
    cache_slot_copied,
    cache_slot_for_another_type,
    cache_slot_used_twice,
    cache_store_key_by_literal,
    cache_store_key_from_text,
    cache_tool_layer_for_other_parts,
    cache_tool_parts_without_scope,
    cache_unscoped_flush,
    cache_unscoped_lookup,
    core_audit_batch_by_literal,
    core_authorized_by_literal,
    core_authorized_for_another_action,
    core_context_by_default,
    core_context_by_literal,
    core_context_deserialized,
    core_context_from_tenant_id,
    core_context_from_text,
    core_context_into_job,
    core_context_new,
    core_context_parsed,
    core_corpus_by_literal,
    core_corpus_scope_by_literal,
    core_corpus_scope_kept,
    core_credential_copied,
    core_credential_printed,
    core_derive_for_a_ticket,
    core_digest_for_another_purpose,
    core_digest_from_bytes,
    core_entry_copied,
    core_entry_ended_twice,
    core_entry_kept,
    core_erasure_scope_by_literal,
    core_grant_by_literal,
    core_crossing_by_literal,
    core_crossing_kept,
    core_grant_cloned,
    core_job_by_literal,
    core_key_slot_by_literal,
    core_lookup_made,
    core_names_made,
    core_names_sent,
    core_operator_issuer_for_tenants,
    core_pass_by_literal,
    core_purpose_implemented,
    core_purpose_of_ones_own,
    core_realm_without_audit,
    core_realm_without_issuers,
    core_redacted_read,
    core_redemption_by_literal,
    core_scoped_value_dereferenced,
    core_scoped_value_read,
    core_seal_as_a_cursor,
    core_tenant_issuer_for_operators,
    core_ticket_as_credential,
    core_ticket_for_another_kind,
    core_verified_by_literal,
    core_verified_used_twice,
    pg_connection_acquired,
    pg_connection_by_as_mut,
    pg_connection_taken_out,
    pg_control_pool_taken_out,
    pg_control_store_query,
    pg_control_store_scoped,
    pg_database_by_literal,
    pg_handle_by_literal,
    pg_inspected_by_literal,
    pg_inspected_without_inspection,
    pg_live_pool_given,
    pg_live_replica_given,
    pg_pool_taken_out,
    pg_state_taken_out,
    pg_transaction_kept,
    pg_pass_by_the_trait,
    pg_transaction_new,
    pg_transaction_taken_out,
    pg_transaction_used_after_commit,
    pg_transaction_used_after_commit_at,
    pg_uninspected_scoped,
    pg_unscoped_begin,
    pg_unscoped_query,
    pg_queue_query,
    pg_queue_pool_taken_out,
    pg_claimed_opened_twice,
    pg_claimed_context,
    pg_claimed_payload,
    pg_retried_transaction_committed,
    pg_retried_transaction_kept,
    pg_savepoint_outlives_its_transaction,
    pg_transaction_used_in_a_savepoint,
    pg_transaction_committed_in_a_savepoint,
    pg_savepoint_used_after_release,
    pg_savepoint_connection_taken_out,
    pg_database_connection_taken_out,
    pg_uninspected_begin_with,
    pg_uninspected_untenanted,
    pg_unscoped_listen,
    pg_listener_taken_out,
    pg_listener_query,
    pg_setting_by_name,
    pg_signing_key_printed,
    pg_signing_key_from_bytes,
    pg_signing_key_by_literal,
    pg_signing_key_secret_read,
    pg_seal_made,
    pg_bulk_column_of_arrays,
    pg_copy_on_a_database,
    pg_registry_query,
    pg_eraser_query,
    pg_uninspected_across,
    pg_across_with_a_context,
    pg_across_without_a_grant,
    pg_reports_begin,
    pg_report_committed,
    pg_reports_by_literal,
    pg_reports_kept,
    pg_report_kept,
    pg_report_connection_taken_out,
    pg_reports_scoped,
    pg_untenanted_by_literal,
    stack_cells_taken_out,
    stack_stores_by_literal,
    stack_stores_taken_out,
    stack_uninspected_database,
    stack_unscoped_stores,
    stack_unscoped_vectors,
    tools_arguments_are_a_context,
    tools_closed_registry_changed,
    tools_directory_taken_out,
    tools_files_by_literal,
    tools_handle_by_literal,
    tools_open_registry,
    tools_registry_closed_by_hand,
    tools_scope_by_literal,
    tools_scope_kept,
    tools_unscoped_files,
    tools_unscoped_offer,
    tools_unscoped_read,
    vector_back_end_taken_out,
    vector_candidates_made,
    vector_corpus_deleted_from_by_a_tenant,
    vector_corpus_erased_by_a_tenant,
    vector_corpus_read_without_a_context,
    vector_corpus_written_by_a_tenant,
    vector_corpus_written_with_a_context,
    vector_cursor_made,
    vector_drop_scope_made,
    vector_engine_taken_out,
    vector_example_by_key,
    vector_filter_by_key,
    vector_found_by_literal,
    vector_group_by_literal,
    vector_handle_by_literal,
    vector_hit_by_literal,
    vector_move_by_a_tenants_handle,
    vector_mover_by_literal,
    vector_own_points_for_shared,
    vector_page_by_literal,
    vector_placement_by_literal,
    vector_point_key_deserialized,
    vector_point_key_from_text,
    vector_point_key_made,
    vector_point_key_of_bytes,
    vector_prepare_on_handle,
    vector_query_by_literal,
    vector_read_scope_writes,
    vector_request_by_literal,
    vector_schema_by_literal,
    vector_scope_by_literal,
    vector_scope_copied,
    vector_scope_kept,
    vector_search_by_literal,
    vector_selection_by_key,
    vector_tagged_point_by_literal,
    vector_tier_taken_out,
    vector_unscoped_change,
    vector_unscoped_count,
    vector_unscoped_move,
    vector_unscoped_query,
    vector_unscoped_scroll,
    vector_unscoped_upsert,
    vector_upsert_by_literal,
    vector_write_scope_drops,
    vector_write_scope_made,
}

/// One row of `docs/claims.md`.
#[derive(Debug, PartialEq)]
struct Claim {
    text: String,
    code: String,
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn names(folder: &str, ending: &str) -> Vec<String> {
    let files = fs::read_dir(here().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.filter_map(|file| Some(file.to_str()?.strip_suffix(ending)?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

fn read(folder: &str, name: &str, ending: &str) -> String {
    let file = here().join(folder).join(format!("{name}{ending}"));
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The rows that look like "| `name` | claim | E0000 |".
fn claims() -> BTreeMap<String, Claim> {
    let page = fs::read_to_string(here().join("../../docs/claims.md")).unwrap();
    let row = |line: &str| {
        let [name, text, code] = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect::<Vec<_>>()[..]
        else {
            panic!("not three columns: {line}");
        };
        let claim = Claim { text: text.to_owned(), code: code.to_owned() };
        Some((name.trim_end_matches('`').to_owned(), claim))
    };
    let rows: Vec<_> = page.lines().filter_map(row).collect();
    let count = rows.len();
    let claims = BTreeMap::from_iter(rows);
    assert_eq!(claims.len(), count, "a name stands twice in docs/claims.md");
    claims
}

/// A file without its header.
fn body(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| line.starts_with("//!")).collect()
}

#[test]
fn every_claim_is_whole() {
    let claimed: Vec<String> = claims().into_keys().collect();
    assert!(claimed.len() > 15);
    assert_eq!(names("fail", ".rs"), claimed, "fail/*.rs and docs/claims.md");
    assert_eq!(names("fail", ".stderr"), claimed, "fail/*.stderr and docs/claims.md");
    assert_eq!(names("pass", ".rs"), claimed, "pass/*.rs and docs/claims.md");
    let mut twins = TWINS.to_vec();
    twins.sort_unstable();
    assert_eq!(twins, claimed, "the list in tests/twins.rs and docs/claims.md");
}

#[test]
fn the_file_and_the_page_claim_the_same() {
    for (name, claim) in claims() {
        let header = read("fail", &name, ".rs").lines().next().unwrap_or_default().to_owned();
        assert_eq!(header, format!("//! {}", claim.text), "{name}");
    }
}

#[test]
fn twins_differ_in_one_line() {
    for name in names("fail", ".rs") {
        let (fail, pass) = (read("fail", &name, ".rs"), read("pass", &name, ".rs"));
        let (fail, pass) = (body(&fail), body(&pass));
        let differing = fail.iter().zip(&pass).filter(|(a, b)| a != b).count();
        assert_eq!((fail.len(), differing), (pass.len(), 1), "{name}");
    }
}

/// Every error of a message has the claimed code, so the file fails for that reason and for no other.
#[test]
fn each_message_has_the_claimed_error_and_no_other() {
    for (name, claim) in claims() {
        let message = read("fail", &name, ".stderr");
        let errors: Vec<&str> = message.lines().filter(|line| line.starts_with("error")).collect();
        assert!(!errors.is_empty(), "{name}: no error");
        for error in errors {
            assert!(error.starts_with(&format!("error[{}]: ", claim.code)), "{name}: {error}");
        }
        assert!(!message.contains("warning:"), "{name}: a warning blurs the reason");
    }
}
