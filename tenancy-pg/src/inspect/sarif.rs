//! The report as SARIF 2.1.0, which code hosts and editors show beside the code.

use serde_json::{Value, json};

use super::codes::Code;
use super::report::{Finding, Inspection, Severity};

impl Inspection {
    /// The report as a SARIF 2.1.0 log (OASIS, 2020) with one run. Objects of the database stand as logical locations; each
    /// result has a fingerprint of its code and object, by which a later report is compared.
    #[must_use]
    pub fn sarif(&self) -> Value {
        let rules: Vec<Value> = Code::ALL.iter().map(|code| rule(*code)).collect();
        let results: Vec<Value> = self.findings.iter().map(result).collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "tenancy-pg",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }},
                "invocations": [{ "executionSuccessful": true }],
                "properties": {
                    "serverVersion": self.server_version,
                    "sessionUser": self.session_user,
                    "currentUser": self.current_user,
                },
                "results": results,
            }],
        })
    }
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "name": format!("{code:?}"),
        "shortDescription": { "text": code.title() },
        "properties": { "tags": [code.class()], "effect": code.effect() },
    })
}

fn result(finding: &Finding) -> Value {
    let Finding { code, severity, object, why, fix } = finding;
    let level = match severity {
        Severity::Fatal => "error",
        Severity::Warning => "warning",
    };
    json!({
        "ruleId": code.as_str(),
        "ruleIndex": Code::ALL.iter().position(|other| other == code),
        "level": level,
        "message": { "text": format!("{object}: {}. {why}\nTo mend it:\n{fix}", code.title()) },
        "locations": [{ "logicalLocations": [{ "fullyQualifiedName": object, "kind": "object" }] }],
        "partialFingerprints": { "tenancyFinding/v1": format!("{} {object}", code.as_str()) },
        "properties": { "fix": fix },
    })
}
