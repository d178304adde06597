//! What is known of programs, as lists: options that run or write something else, and programs that
//! only read.

mod git;
mod reader;
mod risk;
mod shape;
mod tools;

pub(super) use reader::{Operands, READERS, Reader};
pub(super) use risk::{RISKS, Risk, VALUES};
pub(super) use shape::{Layout, SHAPES, Shape, Value};
