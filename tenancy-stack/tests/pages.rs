//! What the README and the guide show is what compiles and is read. The guide's programs are doc tests of this crate.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tenancy_stack::Realm;
use tenancy_stack::pg::Declaration;
use tenancy_testkit::TestIssuer;

const README: &str = include_str!("../../README.md");
const GUIDE: &str = include_str!("../../docs/guide.md");

/// The README's eight lines, which must stand there as they stand here, and what they leave out.
mod readme {
    use axum::extract::{FromRef, State};
    use tenancy_stack::cache::ResponseParts;
    use tenancy_stack::chat::{ChatRequest, Message, ModelIdentity, Role};
    use tenancy_stack::vector::{Hit, SparseVector, VectorError, VectorQuery};
    use tenancy_stack::{Error, Stores, TenantStores, Visibility};

    #[rustfmt::skip]
    async fn answer(mine: TenantStores, State(model): State<Model>, question: String) -> Result<String, Error> {
        let parts = response_parts(&model, &question);                       // every parameter that shapes an answer
        mine.caches()?.response().get_or_try_compute(&parts, || async {      // tenant, model, tools, documents: in the key
            let hits = mine.vectors()?.query(&search(&question)?).await?;    // the engine filters, each hit is checked again
            let docs: Vec<Doc> = sqlx::query_as(DOCS).bind(ids(&hits)).fetch_all(&mine.database()?).await?;   // RLS
            model.answer(&parts.chat, docs).await
        }).await
    }

    const DOCS: &str = "select body from documents where id = any($1)";

    #[derive(Clone)]
    struct Model;

    #[derive(sqlx::FromRow)]
    struct Doc {
        body: String,
    }

    impl Model {
        async fn answer(&self, _: &ChatRequest, docs: Vec<Doc>) -> Result<String, Error> {
            Ok(docs.into_iter().map(|doc| doc.body).collect())
        }
    }

    fn response_parts(_: &Model, question: &str) -> ResponseParts {
        let model = ModelIdentity { id: "m".to_owned(), version: "1".to_owned(), adapter: None };
        ResponseParts {
            chat: ChatRequest::new(model, vec![Message::new(Role::User, question)]),
            endpoint: String::new(),
            inputs: Vec::new(),
            corpora: Vec::new(),
            visibility: Visibility::Tenant,
        }
    }

    fn search(question: &str) -> Result<VectorQuery, VectorError> {
        VectorQuery::hybrid(vec![question.len() as f32], SparseVector::new(vec![1], vec![1.0])?)
    }

    fn ids(hits: &[Hit]) -> Vec<String> {
        hits.iter().map(|hit| hit.id().as_str().to_owned()).collect()
    }

    #[derive(Clone)]
    struct All(Stores);

    impl FromRef<All> for Stores {
        fn from_ref(all: &All) -> Self {
            all.0.clone()
        }
    }

    impl FromRef<All> for Model {
        fn from_ref(_: &All) -> Self {
            Self
        }
    }

    /// A handler that axum takes.
    pub(super) fn router(stores: Stores) -> axum::Router {
        axum::Router::new().route("/ask", axum::routing::post(answer)).with_state(All(stores))
    }
}

#[tokio::test]
async fn the_readme_shows_what_compiles_here() {
    let shown = blocks(README, "rust").into_iter().find(|block| block.contains("TenantStores")).unwrap();
    let here: String = include_str!("pages.rs")
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect();
    assert!(here.contains(&shown), "the README's handler is not the one in this file:\n{shown}");
    let tenants = tenancy_testkit::TestTenants::new().await;
    let _takes_it = readme::router(tenancy_stack::Stores::builder(tenants.realm()).build().unwrap());
}

#[tokio::test]
async fn the_guides_file_starts_a_realm() {
    let file = blocks(GUIDE, "toml").into_iter().find(|block| block.contains("[realm]")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("tenancy.toml"), &file).unwrap();
    fs::write(at("login.jwks.json"), TestIssuer::new("https://login.example", "rag").jwks()).unwrap();
    fs::create_dir(at("secrets")).unwrap();
    fs::write(at("secrets/root.key"), "0f".repeat(32)).unwrap();
    fs::set_permissions(at("secrets/root.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let realm = Realm::from_toml(&at("tenancy.toml")).unwrap().build().await.unwrap();
    assert_eq!(realm.name().as_str(), "prod");
    realm.close().await.unwrap();
    drop(realm);
    assert_eq!(Declaration::from_toml(&file).unwrap().tenant_tables()[0].table(), "documents");
    let with_row_key = file.replace("# row-key", "row-key");
    assert_ne!(with_row_key, file);
    fs::write(at("tenancy.toml"), with_row_key).unwrap();
    // What stands in a comment is good too.
    Realm::from_toml(&at("tenancy.toml")).unwrap();
}

/// The blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned())).collect()
}
