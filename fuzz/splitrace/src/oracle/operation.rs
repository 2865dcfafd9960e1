//! One line in, with typed access to what it says.

use super::OperationError;
use serde_json::{Map, Value};

/// An operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation(Map<String, Value>);

impl Operation {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn parse(line: &str) -> Result<Self, OperationError> {
        serde_json::from_str(line).map(Self).map_err(|error| OperationError::Malformed(error.to_string()))
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
        self.0.get("inst").and_then(Value::as_str).unwrap_or_default()
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
        self.0.get("i")
    }

    /// A value, if it is there.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// When it is not, or is no text.
    pub fn text(&self, key: &str) -> Result<&str, OperationError> {
        self.0.get(key).and_then(Value::as_str).ok_or_else(|| wrong(key, "a text"))
    }

    /// A text, or what stands for a missing one.
    #[must_use]
    pub fn text_or<'a>(&'a self, key: &str, missing: &'a str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or(missing)
    }

    /// A whole number that must be there.
    ///
    /// # Errors
    /// When it is not, or is no whole number.
    pub fn number(&self, key: &str) -> Result<i64, OperationError> {
        self.0.get(key).and_then(Value::as_i64).ok_or_else(|| wrong(key, "a number"))
    }

    /// A whole number, or what stands for a missing one.
    #[must_use]
    pub fn number_or(&self, key: &str, missing: i64) -> i64 {
        self.0.get(key).and_then(Value::as_i64).unwrap_or(missing)
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
        self.0.get(key).and_then(Value::as_bool).unwrap_or(missing)
    }

    /// A list of texts; none when it is not there.
    ///
    /// # Errors
    /// When it is something else.
    pub fn texts(&self, key: &str) -> Result<Vec<&str>, OperationError> {
        self.0.get(key).map_or_else(|| Ok(Vec::new()), |value| texts(key, value))
    }

    /// Lists of texts by index, in the order of the index: `{"0":["a"],"2":[]}`.
    ///
    /// # Errors
    /// When it is not there, or something else.
    pub fn texts_by_index(&self, key: &str) -> Result<Vec<(u32, Vec<&str>)>, OperationError> {
        let lists = self.0.get(key).and_then(Value::as_object).ok_or_else(|| wrong(key, "lists"))?;
        let mut by_index = Vec::with_capacity(lists.len());
        for (index, list) in lists {
            let index = index.parse().map_err(|_| wrong(key, "lists by index"))?;
            by_index.push((index, texts(key, list)?));
        }
        by_index.sort_unstable_by_key(|(index, _)| *index);
        Ok(by_index)
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
