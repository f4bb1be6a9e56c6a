//! A small tool loop: the model asks for calls until it answers.

use std::sync::atomic::AtomicBool;

use tenancy_stack::cache::{ToolParts, canonical_json};
use tenancy_stack::chat::{ChatRequest, FunctionSpec, Message, Role, ToolCall, ToolChoice};
use tenancy_stack::tools::{TenantTools, Tool};
use tenancy_stack::{Denial, TenantStores, Visibility, permission};

use crate::answer::Step;
use crate::ask;
use crate::error::ServiceError;
use crate::service::Service;
use crate::tools::SearchDocuments;

/// Works on a task with the tenant's tools and returns the steps, the last of which is the answer.
///
/// What a tool refuses for its arguments, the model hears as a failed call: the same words for a file that is missing
/// and one that is somebody else's.
///
/// # Errors
/// [`Denial::PermissionMissing`], [`ServiceError::Invalid`] when the model does not come to an end, a tool's denial that
/// is not about its arguments, or what a store or service says.
pub(crate) async fn assist(service: &Service, mine: &TenantStores, task: &str) -> Result<Vec<Step>, ServiceError> {
    mine.context().authorize::<permission::UseModel>()?;
    let tools = mine.tools()?;
    let instruction = "Work on the task with the tools, then answer.";
    let messages = vec![Message::new(Role::System, instruction), Message::new(Role::User, task)];
    let mut chat = ChatRequest::new(service.answerer().model(), messages);
    chat.tool_choice = ToolChoice::Auto;
    chat.tools = tools
        .specs()
        .into_iter()
        .map(|spec| FunctionSpec {
            name: spec.name.to_owned(),
            version: spec.version.to_owned(),
            description: spec.description.to_owned(),
            parameters: spec.schema,
        })
        .collect();
    let mut steps = Vec::new();
    for number in 1..=MAX_STEPS {
        let step = ask::step(service, mine, chat.clone(), &AtomicBool::new(false)).await?;
        steps.push(step.clone());
        let Step::Call { name, arguments } = step else { return Ok(steps) };
        let output = match called(mine, &tools, &name, &arguments).await {
            Ok(output) => output,
            Err(error) => match Denial::of(&error) {
                // What the model can do something about. Any other denial is about who asks, or about the service:
                // somebody who may not be here is not told by the model, and a breach is not talked over.
                None | Some(Denial::NotVisible | Denial::OutOfReach | Denial::ScopeArgument | Denial::BreakerOpen) => {
                    "The call failed.".to_owned()
                }
                Some(_) => return Err(error),
            },
        };
        let call = ToolCall { id: format!("call-{number}"), name, arguments };
        let mut called = Message::new(Role::Assistant, "");
        called.tool_calls = vec![call.clone()];
        let mut result = Message::new(Role::Tool, output);
        result.tool_call_id = Some(call.id);
        chat.messages.extend([called, result]);
    }
    Err(ServiceError::Invalid("the model did not come to an end"))
}

/// What a tool says: from the tenant's cache where it follows from the documents alone, whose version is in the key.
async fn called(mine: &TenantStores, tools: &TenantTools, name: &str, arguments: &str) -> Result<String, ServiceError> {
    let call = || async { Ok(tools.call(name, arguments).await?.into_string()) };
    let spec = tools.specs().into_iter().find(|spec| spec.name == name && spec.name == SearchDocuments::NAME);
    // What has no canonical form is the tool's to refuse.
    let (Some(spec), Ok(arguments)) = (spec, canonical_json(arguments)) else { return call().await };
    let parts = ToolParts {
        name: spec.name.to_owned(),
        version: spec.version.to_owned(),
        scope: Vec::new(),
        arguments,
        corpora: Vec::new(),
        visibility: Visibility::Tenant,
    };
    mine.caches()?.tool().get_or_try_compute(&parts, call).await
}

const MAX_STEPS: usize = 6;
