//! `tenancy policy diff`.

use clap::Args;
use tenancy_pg::Migration;

use super::RoleNames;
use super::output::Output;
use crate::args::{Declared, Target};
use crate::failure::Failure;
use crate::output::tell;
use crate::verdict::Verdict;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    declared: Declared,
    #[command(flatten)]
    roles: RoleNames,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(options: Options) -> Result<Verdict, Failure> {
    let Options { target, declared, roles, output } = options;
    let migration = Migration::diff(target.connect()?, &declared.read()?, &roles.roles()).await?;
    migration.cut_off().iter().for_each(tell);
    output.write(&migration)?;
    Ok(if migration.is_empty() { Verdict::PASSED } else { Verdict::FATAL })
}
