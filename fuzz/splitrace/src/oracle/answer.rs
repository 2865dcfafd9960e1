//! One line out: fields, then the effects in the order in which they happened.

use super::OperationError;
use serde::Serialize;
use serde_json::Value;

/// An answer that is being written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    echo: Option<String>,
    /// `"name":value,` for each field.
    fields: Vec<u8>,
    /// `{..},` for each effect.
    effects: Vec<u8>,
}

impl Answer {
    /// An empty one that repeats `echo`.
    #[must_use]
    pub fn new(echo: Option<&Value>) -> Self {
        Self { echo: echo.map(Value::to_string), ..Self::default() }
    }

    /// Adds a field. The order of fields is the order of calls.
    ///
    /// # Panics
    /// When the value cannot be written as JSON (a map with keys that are no texts): a mistake of the component.
    pub fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        write(&mut self.fields, name);
        self.fields.push(b':');
        write(&mut self.fields, value);
        self.fields.push(b',');
    }

    /// Adds an effect: an object with the key `t`.
    ///
    /// # Panics
    /// As [`Self::field`].
    pub fn effect<T: Serialize + ?Sized>(&mut self, effect: &T) {
        let start = self.effects.len();
        write(&mut self.effects, effect);
        debug_assert_eq!(self.effects[start], b'{', "an effect is an object");
        self.effects.push(b',');
    }

    /// The line. An error stands in the place of the fields; the effects stay.
    #[must_use]
    pub fn finish(self, result: Result<(), OperationError>) -> String {
        let mut line = Vec::with_capacity(self.fields.len() + self.effects.len() + 32);
        line.push(b'{');
        if let Some(echo) = self.echo {
            line.extend_from_slice(b"\"i\":");
            line.extend_from_slice(echo.as_bytes());
            line.push(b',');
        }
        match result {
            Ok(()) => line.extend_from_slice(&self.fields),
            Err(error) => {
                line.extend_from_slice(b"\"err\":");
                write(&mut line, &error.to_string());
                line.push(b',');
            }
        }
        line.extend_from_slice(b"\"ev\":[");
        let effects = self.effects.strip_suffix(b",").unwrap_or(&self.effects);
        line.extend_from_slice(effects);
        line.extend_from_slice(b"]}");
        String::from_utf8(line).expect("JSON is UTF-8")
    }
}

fn write<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(bytes, value).expect("what the oracle tells is writable as JSON");
}
