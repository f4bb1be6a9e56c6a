//! `tenancy policy generate`.

use clap::Args;
use tenancy_pg::Migration;

use super::RoleNames;
use super::output::Output;
use crate::args::Declared;
use crate::failure::Failure;
use crate::verdict::Verdict;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    declared: Declared,
    #[command(flatten)]
    roles: RoleNames,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(options: &Options) -> Result<Verdict, Failure> {
    options.output.write(&Migration::of(&options.declared.read()?, &options.roles.roles())?)?;
    Ok(Verdict::PASSED)
}
