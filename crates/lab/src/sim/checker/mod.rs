//! What is right, apart from the world: small checkers that look at every step.
//!
//! Each holds one promise and sees only what went in and what came out. The first that is broken
//! ends the simulation.

mod answer;
mod bill;
mod ending;
mod guard;
mod input;
mod keep;
mod law;
mod pairing;
mod prefix;
mod result;
mod rule;
mod start;
mod withheld;

use windlass_engine::bound::{Bound, bound};
use windlass_engine::{Control, Effect, Event, Limits, Settings, State};

/// One step, from outside.
#[derive(Debug)]
pub struct View<'a> {
    /// The settings of the session.
    pub settings: &'a Settings,
    /// Its limits, as the rules see them.
    pub limits: &'a Limits,
    /// What was promised.
    pub bound: &'a Bound,
    /// The finite part before the step.
    pub before: Control,
    /// What happened.
    pub event: &'a Event,
    /// It answers nothing that is out.
    pub is_dead: bool,
    /// What is to be done.
    pub effects: &'a [Effect],
    /// Where we are now.
    pub state: &'a State,
}

/// All of them.
#[derive(Debug)]
pub struct Checkers {
    limits: Limits,
    bound: Bound,
    answers: answer::Answers,
    ending: ending::Ending,
    input: input::Input,
    keep: keep::Keep,
    laws: law::Laws,
    prefix: prefix::Prefix,
    results: result::Results,
    rule: rule::Rule,
    start: start::Start,
    withheld: withheld::Withheld,
}

impl Checkers {
    /// Checkers for a session that has not begun.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            limits: settings.limits(),
            bound: bound(settings),
            answers: answer::Answers::default(),
            ending: ending::Ending::default(),
            input: input::Input::default(),
            keep: keep::Keep::default(),
            laws: law::Laws::default(),
            prefix: prefix::Prefix::default(),
            results: result::Results::default(),
            rule: rule::Rule::default(),
            start: start::Start::default(),
            withheld: withheld::Withheld::default(),
        }
    }

    /// Looks at one step. Says which promise was broken, and how.
    ///
    /// # Errors
    ///
    /// The first promise that was broken.
    pub fn look(&mut self, look: &Look<'_>) -> Result<(), String> {
        let Look { settings, before, event, is_dead, effects, state } = *look;
        let (limits, bound) = (&self.limits, &self.bound);
        let view = View { settings, limits, bound, before, event, is_dead, effects, state };
        let named = |name: &str, result: Result<(), String>| {
            result.map_err(|words| format!("{name}: {words}"))
        };
        named("pairing", pairing::check(&view))?;
        named("answer", self.answers.check(&view))?;
        named("ending", self.ending.check(&view))?;
        named("bill", bill::check(&view))?;
        named("guard", guard::check(&view))?;
        named("input", self.input.check(&view))?;
        named("keep", self.keep.check(&view))?;
        named("law", self.laws.check(&view))?;
        named("result", self.results.check(&view))?;
        named("prefix", self.prefix.check(&view))?;
        named("rule", self.rule.check(&view))?;
        named("start", self.start.check(&view))?;
        named("withheld", self.withheld.check(&view))
    }
}

/// What [`Checkers::look`] is shown.
#[derive(Debug)]
pub struct Look<'a> {
    /// The settings of the session.
    pub settings: &'a Settings,
    /// The finite part before the step.
    pub before: Control,
    /// What happened.
    pub event: &'a Event,
    /// It answers nothing that is out.
    pub is_dead: bool,
    /// What is to be done.
    pub effects: &'a [Effect],
    /// Where we are now.
    pub state: &'a State,
}
