//! Rulings, case by case and as laws.

#[cfg(test)]
mod case;
#[cfg(test)]
mod command;
#[cfg(test)]
mod display;
#[cfg(test)]
mod file;
#[cfg(test)]
mod held;
#[cfg(test)]
mod law;
#[cfg(test)]
mod layer;
#[cfg(test)]
mod mode;
#[cfg(test)]
mod person;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod suggestion;
#[cfg(test)]
mod world;
