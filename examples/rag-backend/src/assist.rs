//! A small tool loop: the model asks for calls until it answers.

use tenancy_stack::chat::{ChatRequest, FunctionSpec, Message, Role, ToolCall, ToolChoice};
use tenancy_stack::{Denial, TenantStores, permission};

use crate::answer::Step;
use crate::error::ServiceError;
use crate::service::Service;

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
        let step = service.answerer().step(&chat).await?;
        steps.push(step.clone());
        let Step::Call { name, arguments } = step else { return Ok(steps) };
        let output = match tools.call(&name, &arguments).await {
            Ok(output) => output.into_string(),
            Err(error) => match Denial::of(&error) {
                // What the model can do something about. Any other denial is about who asks, or about the service:
                // somebody who may not be here is not told by the model, and a breach is not talked over.
                None | Some(Denial::NotVisible | Denial::OutOfReach | Denial::ScopeArgument | Denial::BreakerOpen) => {
                    "The call failed.".to_owned()
                }
                Some(_) => return Err(error.into()),
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

const MAX_STEPS: usize = 6;
