//! A registered tool: its type gone, its emitted schema kept.

use std::sync::Arc;

use async_trait::async_trait;
use jsonschema::{PatternOptions, Validator};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::arguments::InvalidArguments;
use crate::error::ToolsError;
use crate::lint::close;
use crate::registry::RegistryError;
use crate::scope::ToolScope;
use crate::tool::{Effect, Tool, ToolOutput, ToolSpec};

/// A tool that was registered.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) spec: ToolSpec,
    validator: Arc<Validator>,
    pub(crate) run: Arc<dyn Run>,
}

impl Registered {
    /// # Errors
    /// [`RegistryError::Schema`] when the schema can't be checked against.
    pub(crate) fn new<T: Tool>(tool: T, schema: &Value) -> Result<Self, RegistryError> {
        let validator = jsonschema::options()
            .offline()
            // In time linear in the argument, whatever the pattern.
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map_err(|_| RegistryError::Unusable { tool: T::NAME })?;
        let spec = ToolSpec {
            name: T::NAME,
            version: T::VERSION,
            description: T::DESCRIPTION,
            effect: T::EFFECT,
            schema: schema.to_string(),
        };
        Ok(Self { spec, validator: Arc::new(validator), run: Arc::new(Erased(tool)) })
    }

    pub(crate) const fn writes(&self) -> bool {
        match self.spec.effect {
            Effect::ReadOnly => false,
            Effect::Writes => true,
        }
    }

    /// Checks arguments against the schema the model was given.
    pub(crate) fn check(&self, arguments: Map<String, Value>) -> Result<Value, InvalidArguments> {
        let value = Value::Object(arguments);
        let verdict = self.validator.validate(&value).map_err(|error| error.schema_path().as_str().to_owned());
        match verdict {
            Ok(()) => Ok(value),
            Err(pointer) => Err(InvalidArguments::Schema { pointer }),
        }
    }
}

/// The schema of a tool's arguments as a model will get it.
pub(crate) fn emit<T: Tool>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T::Args>().to_value();
    close(&mut schema);
    schema
}

/// A call without the type of its arguments.
#[async_trait]
pub(crate) trait Run: Send + Sync {
    async fn run(&self, scope: ToolScope<'_>, arguments: Value) -> Result<ToolOutput, ToolsError>;
}

struct Erased<T>(T);

#[async_trait]
impl<T: Tool> Run for Erased<T> {
    async fn run(&self, scope: ToolScope<'_>, arguments: Value) -> Result<ToolOutput, ToolsError> {
        let args = serde_json::from_value(arguments).map_err(|_| InvalidArguments::Unreadable)?;
        Ok(self.0.call(&scope, args).await?)
    }
}
