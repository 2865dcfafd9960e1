//! One line in, with typed access to what it says.

use super::OperationError;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// An operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    fields: Map<String, Value>,
    /// As it was written: [`Map`] does not keep the order of keys.
    line: String,
}

impl Operation {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn parse(line: &str) -> Result<Self, OperationError> {
        let fields =
            serde_json::from_str(line).map_err(|error| OperationError::Malformed(error.to_string()))?;
        Ok(Self { fields, line: line.to_owned() })
    }

    /// The component that it is for.
    ///
    /// # Errors
    /// When it names none.
    pub fn component(&self) -> Result<&str, OperationError> {
        self.text("c")
    }

    /// The instance of the component; the empty name unless it says otherwise.
    #[must_use]
    pub fn instance(&self) -> &str {
        self.fields.get("inst").and_then(Value::as_str).unwrap_or_default()
    }

    /// What is to be done.
    ///
    /// # Errors
    /// When it does not say.
    pub fn name(&self) -> Result<&str, OperationError> {
        self.text("op")
    }

    /// What the answer is to repeat.
    #[must_use]
    pub fn echo(&self) -> Option<&Value> {
        self.fields.get("i")
    }

    /// A value, if it is there.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// When it is not, or is no text.
    pub fn text(&self, key: &str) -> Result<&str, OperationError> {
        self.fields.get(key).and_then(Value::as_str).ok_or_else(|| wrong(key, "a text"))
    }

    /// A text, or what stands for a missing one.
    #[must_use]
    pub fn text_or<'a>(&'a self, key: &str, missing: &'a str) -> &'a str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or(missing)
    }

    /// A whole number that must be there.
    ///
    /// # Errors
    /// When it is not, or is no whole number.
    pub fn number(&self, key: &str) -> Result<i64, OperationError> {
        self.fields.get(key).and_then(Value::as_i64).ok_or_else(|| wrong(key, "a number"))
    }

    /// A whole number, or what stands for a missing one.
    #[must_use]
    pub fn number_or(&self, key: &str, missing: i64) -> i64 {
        self.fields.get(key).and_then(Value::as_i64).unwrap_or(missing)
    }

    /// An index (of a subtask, a delivery, ...) that must be there.
    ///
    /// # Errors
    /// When it is not, or is negative or too large.
    pub fn index(&self, key: &str) -> Result<u32, OperationError> {
        u32::try_from(self.number(key)?).map_err(|_| wrong(key, "an index"))
    }

    /// A switch, or what stands for a missing one.
    #[must_use]
    pub fn flag_or(&self, key: &str, missing: bool) -> bool {
        self.fields.get(key).and_then(Value::as_bool).unwrap_or(missing)
    }

    /// A list of texts; none when it is not there.
    ///
    /// # Errors
    /// When it is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<&str>, OperationError> {
        self.fields.get(key).map_or_else(|| Ok(Vec::new()), |value| texts(key, value))
    }

    /// Lists of texts by index, in the order in which they are written: `{"1":["a"],"0":[]}`.
    ///
    /// # Errors
    /// When there is none, or something else.
    pub fn assignment(&self) -> Result<Vec<(u32, Vec<String>)>, OperationError> {
        let parsed: Result<WithAssignment, _> = serde_json::from_str(&self.line);
        parsed.map(|found| found.assign.0).map_err(|error| OperationError::Malformed(error.to_string()))
    }

    /// The answer to an operation that the component does not have.
    #[must_use]
    pub fn unknown(&self) -> OperationError {
        let (component, name) = (self.text_or("c", "?"), self.text_or("op", "?"));
        OperationError::Malformed(format!("'{component}' has no operation '{name}'"))
    }
}

fn texts<'a>(key: &str, value: &'a Value) -> Result<Vec<&'a str>, OperationError> {
    let list = value.as_array().ok_or_else(|| wrong(key, "a list"))?;
    list.iter().map(|one| one.as_str().ok_or_else(|| wrong(key, "a list of texts"))).collect()
}

fn wrong(key: &str, wanted: &str) -> OperationError {
    OperationError::Malformed(format!("'{key}' must be {wanted}"))
}

/// The line again, for the order of its lists.
#[derive(serde::Deserialize)]
struct WithAssignment {
    assign: Assignment,
}

struct Assignment(Vec<(u32, Vec<String>)>);

impl<'de> Deserialize<'de> for Assignment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Assignment;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("lists by index")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Assignment, M::Error> {
                let mut lists = Vec::new();
                while let Some((index, list)) = map.next_entry::<String, Vec<String>>()? {
                    let index = index.parse().map_err(|_| M::Error::custom("lists by index"))?;
                    lists.push((index, list));
                }
                Ok(Assignment(lists))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
