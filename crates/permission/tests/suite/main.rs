//! Decisions, case by case and as properties.

#[cfg(test)]
mod bash_reading;
#[cfg(test)]
mod case;
#[cfg(test)]
mod command;
#[cfg(test)]
mod confinement;
#[cfg(test)]
mod display;
#[cfg(test)]
mod file;
#[cfg(test)]
mod file_system_view;
#[cfg(test)]
mod layer;
#[cfg(test)]
mod missing_snapshot;
#[cfg(test)]
mod mode;
#[cfg(test)]
mod property;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod sandbox_policy;
#[cfg(test)]
mod suggestion;
#[cfg(test)]
mod unheld_edit;
mod user_question;
