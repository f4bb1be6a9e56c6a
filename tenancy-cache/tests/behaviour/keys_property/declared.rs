//! The fields that there are, read from where they are declared, against those that the properties change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use syn::{Fields, GenericArgument, Item, PathArguments, Type, Visibility as Seen};

use super::*;

/// The public structs of some files, with their fields' types.
type Structs = BTreeMap<String, Vec<(String, Type)>>;

fn structs(folder: &str, is_meant: fn(&str) -> bool) -> Structs {
    let mut structs = Structs::new();
    for entry in Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(is_meant) {
            let file = syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap();
            structs.extend(file.items.into_iter().filter_map(named));
        }
    }
    structs
}

fn named(item: Item) -> Option<(String, Vec<(String, Type)>)> {
    let Item::Struct(item) = item else { return None };
    let (Fields::Named(fields), Seen::Public(_)) = (item.fields, item.vis) else { return None };
    let fields = fields.named.into_iter().map(|field| (field.ident.expect("a name").to_string(), field.ty));
    Some((item.ident.to_string(), fields.collect()))
}

/// The paths to all fields of a struct, through those that are structs or lists of some.
fn paths(name: &str, structs: &Structs) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (field, of) in &structs[name] {
        let (inner, step) = inner(of);
        if structs.contains_key(&inner) {
            all.extend(paths(&inner, structs).into_iter().map(|path| format!("{field}.{step}{path}")));
        }
        all.insert(field.clone());
    }
    all
}

/// The name of a type, or of what it is a list or an option of, and the step to an item of it.
fn inner(of: &Type) -> (String, &'static str) {
    let Type::Path(path) = of else { return (String::new(), "") };
    let last = path.path.segments.last().expect("a path has a name");
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return (last.ident.to_string(), "") };
    let step = if last.ident == "Vec" { "0." } else { "" };
    match arguments.args.first() {
        Some(GenericArgument::Type(of)) => (inner(of).0, step),
        _ => (String::new(), ""),
    }
}

/// The fields that were changed, each of which made another key, in pairs of random parts until nothing is missing.
fn changed<P>(
    declared: Option<&BTreeSet<String>>,
    parts: impl Strategy<Value = P>,
    property: impl Fn(&P, &P) -> Changed,
) -> BTreeSet<String> {
    let mut runner = TestRunner::deterministic();
    let mut changed = BTreeSet::new();
    for _pair in 0..MOST {
        let mut random = || parts.new_tree(&mut runner).unwrap().current();
        changed.extend(property(&random(), &random()).unwrap());
        if Some(&changed) == declared {
            break;
        }
    }
    changed
}

#[test]
fn every_field_that_is_declared_makes_a_key() {
    let mut all = structs("src", |file| file == "parts.rs");
    let parts: Vec<String> = all.keys().cloned().collect();
    all.extend(structs("../tenancy-core/src/chat", |file| file.ends_with(".rs")));
    let declared: BTreeMap<&str, _> = parts.iter().map(|name| (name.as_str(), paths(name, &all))).collect();
    assert!(declared["ResponseParts"].contains("chat.messages.0.tool_calls.0.arguments"), "{declared:?}");
    let of = |name| declared.get(name);
    let changed = BTreeMap::from([
        ("ResponseParts", {
            changed(of("ResponseParts"), any_response(), |a, b| each_field_counts(a, b, response(a, b)))
        }),
        ("RetrievalParts", {
            changed(of("RetrievalParts"), any_retrieval(), |a, b| each_field_counts(a, b, retrieval(a, b)))
        }),
        ("EmbeddingParts", {
            changed(of("EmbeddingParts"), any_embedding(), |a, b| each_field_counts(a, b, embedding(a, b)))
        }),
        ("ToolParts", changed(of("ToolParts"), any_tool(), |a, b| each_field_counts(a, b, tool(a, b)))),
        ("SemanticParts", changed(of("SemanticParts"), any_semantic(), each_field_of_a_namespace_counts)),
        ("EngineParts", changed(of("EngineParts"), any_engine(), |a, b| each_field_counts(a, b, engine(a, b)))),
    ]);
    assert_eq!(changed, declared);
}

/// So many pairs at most.
const MOST: usize = 2_000;
