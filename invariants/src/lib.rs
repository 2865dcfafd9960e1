//! Checkers that judge a run from its events alone.
