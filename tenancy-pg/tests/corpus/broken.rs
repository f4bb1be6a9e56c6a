//! The broken ones: every mistake in every place where it fits, and what judge and prober say of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{StreamExt, stream};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tenancy_core::Realm;
use tenancy_pg::{Effect, Severity};
use tenancy_testkit::{APP, TestDatabase, TestTenants, ThrowawayPostgres};

use crate::facts::Facts;
use crate::operators::{self, Mutation, Operator};
use crate::schema::{REPORTER, Schema};

#[tokio::test]
async fn judge_and_prober_say_the_same_of_every_mutation() {
    let schemas = Schema::all().await;
    let tenants = TestTenants::new().await;
    let mut templates = Vec::new();
    let mut mutants = Vec::new();
    for schema in &schemas {
        let template = schema.build().await;
        let facts = Facts::of(schema, &template).await;
        for operator in operators::all() {
            let places = (operator.places)(&facts).into_iter();
            mutants.extend(places.map(|mutation| Mutant {
                schema: schema.clone(),
                template: template.clone(),
                operator: operator.clone(),
                mutation,
            }));
        }
        templates.push(template);
    }
    let in_all = mutants.len();
    let chosen = choose(mutants);
    println!("{} mutants of {in_all}, {} schemas, {} operators\n", chosen.len(), schemas.len(), operators::all().len());
    let realm = tenants.realm();
    let mut opinions: Vec<(Mutant, Opinion)> = stream::iter(chosen)
        .map(|mutant| async {
            let opinion = mutant.try_out(realm).await;
            (mutant, opinion)
        })
        .buffer_unordered(AT_A_TIME)
        .collect()
        .await;
    opinions.sort_by_key(|(mutant, _)| mutant.label());

    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (mutant, opinion) in &opinions {
        let said = opinion.said(&mutant.operator);
        *counts.entry(said.word()).or_default() += 1;
        println!("{:14} {}", said.word(), mutant.label());
        if matches!(said, Said::JudgeBlind | Said::ProberBlind | Said::Unapplied) {
            wrong.push(format!("{}: {}\n  {}\n{opinion}", said.word(), mutant.label(), mutant.mutation.sql));
        }
    }
    println!("\n{counts:#?}");
    for operator in operators::all() {
        if let Some(why) = operator.unprovable {
            println!("by nature: {}: {why}", operator.name);
        }
        let tried = opinions.iter().any(|(mutant, _)| mutant.operator.name == operator.name);
        assert!(tried || only().is_some(), "{} fits nowhere", operator.name);
    }
    assert!(wrong.is_empty(), "{} disagreements\n\n{}", wrong.len(), wrong.join("\n"));
    assert!(counts["both"] >= 100 || only().is_some(), "{counts:?}");
}

/// One mistake in one schema.
#[derive(Clone)]
struct Mutant {
    schema: Schema,
    template: TestDatabase,
    operator: Operator,
    mutation: Mutation,
}

/// What was found of it.
#[derive(Default)]
struct Opinion {
    unfit: Option<String>,
    /// Whether the judge keeps the service from starting, for this or another reason.
    fatal: bool,
    judge_leaks: Vec<String>,
    judge_tells: Vec<String>,
    rows: Vec<String>,
    told: Vec<String>,
}

/// How the two compare.
#[derive(Clone, Copy, Debug)]
enum Said {
    /// Both see that something crosses.
    Both,
    /// Neither does: an outage, or no fault at all in this place.
    Neither,
    /// The judge alone does, for a reason that the operator gives.
    ByNature,
    JudgeBlind,
    ProberBlind,
    /// The data or the server do not let the mistake be made here.
    Unfit,
    Unapplied,
}

impl Said {
    fn word(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Neither => "neither",
            Self::ByNature => "judge by nature",
            Self::JudgeBlind => "JUDGE BLIND",
            Self::ProberBlind => "PROBER BLIND",
            Self::Unfit => "does not fit",
            Self::Unapplied => "NOT APPLIED",
        }
    }
}

impl Mutant {
    fn label(&self) -> String {
        format!("{:40} {:20} {}", self.operator.name, self.schema.name, self.mutation.place)
    }

    async fn try_out(&self, realm: &Realm) -> Opinion {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mutant_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let server = ThrowawayPostgres::shared().await;
        let postgres = server.database("postgres");
        postgres.run(&format!("create database {name} template {} strategy file_copy", self.template.name())).await;
        let database = server.database(&name);
        // Rights on a database are no part of its template.
        postgres.run(&format!("revoke temporary on database {name} from public")).await;
        let socket = database.socket().unwrap();
        let fill = |sql: &str| {
            sql.replace("{login}", &name)
                .replace("{database}", &name)
                .replace("{socket}", &socket.parent().unwrap().display().to_string())
        };
        let login = self.mutation.login.as_deref().map(fill);
        if let Some(sql) = &login {
            postgres.run(sql).await;
        }
        let logins = match (&login, self.mutation.reporter) {
            (None, _) => [APP, REPORTER],
            (Some(_), false) => [name.as_str(), REPORTER],
            (Some(_), true) => [APP, name.as_str()],
        };
        let opinion = match run(&database, &fill(&self.mutation.sql)).await {
            Ok(()) => self.ask(realm, &database, logins).await,
            Err(unfit) => Opinion { unfit: Some(unfit), ..Opinion::default() },
        };
        postgres.run(&format!("drop database {name}")).await;
        if login.is_some() {
            postgres.run(&format!("drop role if exists {name}, {name}_group")).await;
        }
        opinion
    }

    async fn ask(&self, realm: &Realm, database: &TestDatabase, logins: [&str; 2]) -> Opinion {
        let inspection = self.schema.inspect(realm, database, logins).await;
        let report = self.schema.probe(database, logins).await;
        let mut opinion = Opinion { fatal: inspection.fatal().next().is_some(), ..Opinion::default() };
        for finding in &inspection.findings {
            let line = format!("{} {} {}", finding.code.as_str(), finding.code.title(), finding.object);
            match finding.code.effect() {
                Effect::Crosses | Effect::MayCross if finding.severity == Severity::Fatal => {
                    opinion.judge_leaks.push(line)
                }
                Effect::Tells => opinion.judge_tells.push(line),
                _harmless => {}
            }
        }
        opinion.rows = report.rows().map(|crossing| format!("{crossing:?}")).collect();
        opinion.told = report.told().map(|crossing| format!("{crossing:?}")).collect();
        opinion
    }
}

impl Opinion {
    fn said(&self, operator: &Operator) -> Said {
        if let Some(code) = &self.unfit {
            return if UNFIT.contains(&code.as_str()) { Said::Unfit } else { Said::Unapplied };
        }
        let leaks = !self.judge_leaks.is_empty();
        let tells = leaks || !self.judge_tells.is_empty();
        let (rows, any) = (!self.rows.is_empty(), !self.rows.is_empty() || !self.told.is_empty());
        // The service does not start on anything fatal, whatever its reason.
        let blind = (rows && !leaks && !self.fatal) || (any && !tells && !self.fatal);
        match (tells, any) {
            _crossed if blind => Said::JudgeBlind,
            (_, true) => Said::Both,
            (false, false) => Said::Neither,
            (true, false) if operator.unprovable.is_some() => Said::ByNature,
            (true, false) => Said::ProberBlind,
        }
    }
}

impl std::fmt::Display for Opinion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(code) = &self.unfit {
            writeln!(f, "  the mutation was refused: {code}")?;
        }
        let lists = [&self.judge_leaks, &self.judge_tells, &self.rows, &self.told];
        for (who, said) in ["judge: leaks", "judge: tells", "prober: rows", "prober: told"].into_iter().zip(lists) {
            for line in said.iter().take(4) {
                writeln!(f, "  {who}: {line}")?;
            }
        }
        Ok(())
    }
}

/// Every operator, in as many places as the scale asks for: at the usual one enough for the count, at the full one all.
fn choose(mut mutants: Vec<Mutant>) -> Vec<Mutant> {
    let scale = std::env::var("TENANCY_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    let only = only();
    let mut by_operator: BTreeMap<&str, Vec<Mutant>> = BTreeMap::new();
    mutants.retain(|mutant| only.as_ref().is_none_or(|only| mutant.label().contains(only.as_str())));
    for mutant in mutants {
        by_operator.entry(mutant.operator.name).or_default().push(mutant);
    }
    let mut chosen = Vec::new();
    let mut taken: HashMap<String, usize> = HashMap::new();
    for mut places in by_operator.into_values() {
        let wanted = if scale >= FULL { places.len() } else { (AT_LEAST as f64 * scale).ceil() as usize };
        for _ in 0..wanted.min(places.len()) {
            // The schema that was taken least.
            let next =
                (0..places.len()).min_by_key(|at| taken.get(&places[*at].schema.name).copied().unwrap_or_default());
            let mutant = places.remove(next.unwrap());
            *taken.entry(mutant.schema.name.clone()).or_default() += 1;
            chosen.push(mutant);
        }
    }
    chosen
}

/// For work on one kind of mistake or one schema: a part of its name.
fn only() -> Option<String> {
    std::env::var("TENANCY_MUTATION").ok()
}

async fn run(database: &TestDatabase, sql: &str) -> Result<(), String> {
    let mut connection = PgConnection::connect_with(&database.superuser_options()).await.unwrap();
    let ran = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await;
    connection.close().await.unwrap();
    ran.map(drop).map_err(|e| match e.as_database_error().and_then(|e| e.code()) {
        Some(code) if UNFIT.contains(&&*code) => code.into_owned(),
        _other => e.to_string(),
    })
}

const AT_A_TIME: usize = 4;
const AT_LEAST: usize = 2;
/// `cargo xtask test --full`.
const FULL: f64 = 20.0;
/// Rows that are not unique; an extension that is not installed.
const UNFIT: [&str; 3] = ["23505", "0A000", "58P01"];
