//! Two tenants with the same tools over one root of files.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use tenancy_core::{AuditRecord, Outcome};
use tenancy_testkit::TestTenants;
use tenancy_tools::{
    Effect, FilesRoot, Limits, TenantTools, Tool, ToolError, ToolOutput, ToolRegistry, ToolScope, Tools,
};

pub(crate) struct House {
    pub(crate) tenants: TestTenants,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tools: Tools,
    pub(crate) acme: TenantTools,
    pub(crate) globex: TenantTools,
}

impl House {
    /// A house with the tools of a registry.
    pub(crate) async fn with(registry: ToolRegistry<tenancy_tools::Open>, limits: Limits) -> Self {
        Self::of(TestTenants::new().await, registry, limits).await
    }

    /// A house in a given realm.
    pub(crate) async fn of(tenants: TestTenants, registry: ToolRegistry<tenancy_tools::Open>, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = FilesRoot::provision(folder.path().join("root")).unwrap();
        let tools = Tools::with_limits(tenants.realm(), registry.close(), root, limits);
        let acme = tools.scoped(&tenants.context("acme").await).unwrap();
        let globex = tools.scoped(&tenants.context("globex").await).unwrap();
        Self { tenants, folder, tools, acme, globex }
    }

    /// A house with `read_file` and `write_file`, and a secret of globex.
    pub(crate) async fn new() -> Self {
        let mut registry = ToolRegistry::new();
        registry.register(ReadFile).unwrap().register(WriteFile).unwrap();
        let house = Self::with(registry, Limits::default()).await;
        house.acme.files().write("own.txt", "acme's own").await.unwrap();
        house.globex.files().write("secret.txt", SECRET).await.unwrap();
        house
    }

    /// Where the host keeps a tenant's files, found by what is in them.
    pub(crate) fn home_of(&self, name: &str) -> PathBuf {
        std::fs::read_dir(self.folder.path().join("root"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|home| home.join(name).exists())
            .expect("the tenant has written the file")
    }

    pub(crate) fn acme_home(&self) -> PathBuf {
        self.home_of("own.txt")
    }

    pub(crate) fn globex_home(&self) -> PathBuf {
        self.home_of("secret.txt")
    }

    /// What is on record for an action, oldest first, without the notes of a first access.
    pub(crate) async fn records(&self, action: &str) -> Vec<AuditRecord> {
        let records = self.tenants.audit().await.into_iter();
        records.filter(|record| record.action() == action && record.outcome() != Outcome::Accessed).collect()
    }

    /// Outcome and rule of each record of an action in acme's log. Between two tenants' records there is no order.
    pub(crate) async fn outcomes(&self, action: &str) -> Vec<(Outcome, Option<String>)> {
        let acme = self.tenants.life("acme");
        let records = self.records(action).await.into_iter().filter(|record| record.life() == Some(acme));
        records.map(|record| (record.outcome(), record.rule().map(str::to_owned))).collect()
    }
}

pub(crate) const SECRET: &str = "globex's recipe, 7d0c";

/// Everything in a folder, by name.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// How often a repeated test repeats, from `TENANCY_TEST_SCALE`.
pub(crate) fn scaled(times: usize) -> usize {
    let scale = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    ((times as f64 * scale) as usize).max(1)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadArgs {
    /// Relative path.
    pub(crate) path: String,
}

pub(crate) struct ReadFile;

impl Tool for ReadFile {
    type Args = ReadArgs;
    const NAME: &'static str = "read_file";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Reads a text file";
    const EFFECT: Effect = Effect::ReadOnly;

    async fn call(&self, scope: &ToolScope<'_>, args: ReadArgs) -> Result<ToolOutput, ToolError> {
        let bytes = scope.files().read(&args.path).await?;
        Ok(ToolOutput::text(String::from_utf8_lossy(&bytes)))
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteArgs {
    /// Relative path.
    pub(crate) path: String,
    /// What to write.
    pub(crate) text: String,
}

pub(crate) struct WriteFile;

impl Tool for WriteFile {
    type Args = WriteArgs;
    const NAME: &'static str = "write_file";
    const VERSION: &'static str = "1";
    const DESCRIPTION: &'static str = "Writes a text file";
    const EFFECT: Effect = Effect::Writes;

    async fn call(&self, scope: &ToolScope<'_>, args: WriteArgs) -> Result<ToolOutput, ToolError> {
        scope.files().write(&args.path, args.text).await?;
        Ok(ToolOutput::text("written"))
    }
}
