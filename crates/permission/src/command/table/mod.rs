//! What is known of programs, as lists: options that run or write something else, and programs that
//! only read.

mod git;
mod reader;
mod risk;
mod tools;

pub(super) use reader::{Operands, READERS, Reader};
pub(super) use risk::{RISKS, Risk, VALUES};
