//! The tools against real processes and real files, one file per tool.

#[cfg(test)]
mod awkward;
#[cfg(test)]
mod background;
#[cfg(test)]
mod bash;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod glob;
#[cfg(test)]
mod grep;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod notebook;
#[cfg(test)]
mod pdf;
#[cfg(test)]
mod person;
#[cfg(test)]
mod picture;
#[cfg(test)]
mod process;
#[cfg(test)]
mod read;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod skill;
#[cfg(test)]
mod test_project;
#[cfg(test)]
mod web;
#[cfg(test)]
mod write;
