//! The correct ones: the judge finds nothing, the prober neither, and it did look.

use tenancy_testkit::{APP, TestTenants};

use crate::schema::{REPORTER, Schema};

#[tokio::test]
async fn correct_schemas_are_judged_clean_and_nothing_crosses_in_them() {
    let schemas = Schema::all().await;
    assert!(schemas.len() >= 20, "{}", schemas.len());
    let tenants = TestTenants::new().await;
    let mut wrong = Vec::new();
    for schema in &schemas {
        let database = schema.build().await;
        let inspection = schema.inspect(tenants.realm(), &database, [APP, REPORTER]).await;
        let fatal: Vec<String> = inspection.fatal().map(ToString::to_string).collect();
        if !fatal.is_empty() {
            wrong.push(format!("{}: judged\n{}", schema.name, fatal.join("\n")));
        }
        let report = schema.probe(&database, [APP, REPORTER]).await;
        let sealed = !report.unproven.iter().any(|unproven| unproven.object == "tenancy.seal");
        let proven = report.proven.len() == schema.declaration.tenant_tables().len();
        if !report.crossings.is_empty() || !proven || !sealed {
            wrong.push(format!("{}: probed\n{report}", schema.name));
        }
        println!(
            "{:24} {:5} attempts, {} tables, {} not proven",
            schema.name,
            report.attempts,
            report.proven.len(),
            report.unproven.len()
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
