//! Both ends of channels under scripted words, and alignment against a reference model.

mod alignment;
mod channels;
