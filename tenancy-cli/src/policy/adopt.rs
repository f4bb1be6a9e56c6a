//! `tenancy policy adopt`.

use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use tenancy_core::{Life, RowKey, TenantId, TenantRecord};
use tenancy_pg::{CutOff, Declaration, Migration, Progress, Run, Step};

use super::RoleNames;
use super::output::print_json;
use crate::args::{Declared, Target, life, row_key};
use crate::failure::Failure;
use crate::output::{print, tell};
use crate::verdict::Verdict;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    declared: Declared,
    #[command(flatten)]
    roles: RoleNames,
    /// The row key of the tenant that all rows become, as the tenant column will hold it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    row_key: String,
    /// The life of that tenant in the directory, for the registry. A row key that is a uuid is the life, unless another
    /// is given.
    #[arg(long, value_name = "UUID")]
    life: Option<String>,
    /// A login that uses the tables and may lose its rows, because nobody works with it; `public` for what was granted to
    /// PUBLIC. May be given more than once. Declare a login that somebody works with in legacy-roles instead.
    #[arg(long, value_name = "ROLE")]
    cut_off: Vec<String>,
    /// Every step with its reason, both directions and its locks, as JSON, and run nothing.
    #[arg(long, conflicts_with = "run")]
    json: bool,
    /// Run the steps, and say on stderr how far it is. Stopped or failed anywhere, the steps before stay done, and the same
    /// command does the rest.
    #[arg(long)]
    run: bool,
}

pub(super) async fn run(options: Options) -> Result<Verdict, Failure> {
    let declaration = options.declared.read()?;
    let tenant = options.tenant(&declaration)?;
    let roles = options.cut_off.iter().fold(options.roles.roles(), |roles, role| roles.cut_off(role));
    let plan = Migration::adopt(options.target.connect()?, &declaration, &roles, &tenant).await?;
    plan.cut_off().iter().for_each(|cut_off| tell(format_args!("{cut_off}; {}", way_out(cut_off))));
    if options.run {
        let mut watched = Watched { of: plan.steps().len(), number: 0, told: Instant::now() };
        plan.run_watched(options.target.connect()?, |step, progress| watched.tell(step, progress)).await?;
        tell(format_args!("{} steps done, nothing is left to do", plan.steps().len()));
    } else if options.json {
        print_json(&plan)?;
    } else if plan.is_empty() {
        tell("nothing is left to do");
    } else {
        print(as_text(&plan))?;
    }
    Ok(Verdict::PASSED)
}

impl Options {
    /// As much of the directory's record as a plan asks for: its key and life.
    fn tenant(&self, declaration: &Declaration) -> Result<TenantRecord, Failure> {
        let key = row_key("--row-key", &self.row_key, declaration)?;
        let life = match (&self.life, &key) {
            (Some(text), _) => life("--life", text)?,
            (None, RowKey::Uuid(_)) => life("--row-key", &self.row_key)?,
            // Without a registry no step holds it. In signed mode the registrar enters it.
            (None, _) if !declaration.registry() || declaration.signed() => Life::random(),
            (None, _) => return Err(Failure::Argument { name: "--life", why: "the registry needs it".to_owned() }),
        };
        let name = TenantId::parse("adopted").map_err(|e| Failure::Argument { name: "adopt", why: e.to_string() })?;
        Ok(TenantRecord::new(name, life, SystemTime::UNIX_EPOCH).row_key_of(key))
    }
}

/// What to do about somebody who would see no rows.
fn way_out(cut_off: &CutOff) -> String {
    let role = cut_off.role();
    match cut_off {
        CutOff::Everybody { .. } => {
            format!("declare the logins that need them in legacy-roles, and say --cut-off {role} for all others")
        }
        _one => format!("declare it in legacy-roles, or say --cut-off {role}"),
    }
}

fn as_text(plan: &Migration) -> String {
    let of = plan.steps().len();
    let mut text = String::new();
    for (number, Step { reason, up, run, locks, .. }) in (1..).zip(plan.steps()) {
        let how = match run {
            Run::InTransaction => "in a transaction",
            Run::Alone => "outside of any transaction",
            Run::InBatches { .. } => "again and again, from page $1 to page $2: only --run does that",
            _later => "in a way of its own: only --run does that",
        };
        text += &format!("-- {number}/{of}: {}\n-- {how}; {locks}\n{up}\n", one_line(reason));
    }
    text
}

/// Says on stderr which step is under way.
struct Watched {
    of: usize,
    number: usize,
    told: Instant,
}

impl Watched {
    fn tell(&mut self, step: &Step, progress: Progress) {
        match progress {
            Progress::Begun => {
                self.number += 1;
                self.say(&format!("{}; {}", one_line(&step.reason), step.locks));
            }
            Progress::GaveWay { times } => self.say(&format!("somebody holds on to it: gave way {times} times")),
            Progress::Pages { done, of } if self.told.elapsed() >= PATIENCE => {
                self.say(&format!("{done} of {of} pages"))
            }
            _done => {}
        }
    }

    fn say(&mut self, what: &str) {
        self.told = Instant::now();
        tell(format_args!("{}/{}: {what}", self.number, self.of));
    }
}

/// A reason holds names, and a name may hold the end of a line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

const PATIENCE: Duration = Duration::from_secs(2);
