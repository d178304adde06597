//! The tools against real processes and real files, one file per tool.

mod bash;
mod read;
mod world;
