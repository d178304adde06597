//! Any session: settings, what happens, and what its summariser is like.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use windlass_engine::Settings;
use windlass_lab::manual_session::build_settings;
use windlass_vocabulary::{Json, Tokens, ToolName, ToolSpec};

use crate::WINDOW_MIN;

#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) settings: Settings,
    /// What the provider counts, in percent of our raw estimate.
    pub(crate) rate: u64,
    pub(crate) steps: Vec<Step>,
}

/// What happens next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The user speaks, perhaps while a run is going on.
    Says { bytes: usize, pinned: bool, image: bool },
    /// The model asks for tools and they answer.
    Turn { says: usize, results: Vec<Answer>, summary: Summary },
    /// The model answers and the run ends.
    Ends { bytes: usize },
    /// The provider says the prompt is too long, whatever we think.
    TooLong { summary: Summary },
    /// The provider says the media are too large.
    MediaTooLarge { summary: Summary },
    /// The user wants history compacted.
    Compact { summary: Summary },
}

/// What a tool answers.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) bytes: usize,
    pub(crate) image: bool,
    pub(crate) tasks: Option<usize>,
    pub(crate) directory: bool,
    pub(crate) file: bool,
}

/// What the summariser does when it is asked, and how much is read again beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) manner: Manner,
    pub(crate) files: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A short summary.
    Good,
    /// Far over its limit.
    TooLong,
    /// Nothing but spaces.
    Empty,
    /// The call fails.
    Fails,
    /// As long as what it stands for.
    NeverShorter,
    /// Other tasks in another directory than there are.
    Lies,
}

/// Mostly small, now and then larger than any window.
fn bytes() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..400usize, 4 => 400..6_000usize, 1 => 6_000..60_000usize]
}

fn summary() -> impl Strategy<Value = Summary> {
    use Manner::{Empty, Fails, Good, Lies, NeverShorter, TooLong};
    let manner = prop_oneof![
        3 => Just(Good), 1 => Just(TooLong), 1 => Just(Empty), 1 => Just(Fails),
        1 => Just(NeverShorter), 1 => Just(Lies)
    ];
    (manner, option::of(bytes())).prop_map(|(manner, files)| Summary { manner, files })
}

fn answer() -> impl Strategy<Value = Answer> {
    let one_in = |n: u32| prop::bool::weighted(1.0 / f64::from(n));
    (bytes(), one_in(8), option::weighted(0.2, 0..1_000usize), one_in(6), one_in(4)).prop_map(
        |(bytes, image, tasks, directory, file)| Answer { bytes, image, tasks, directory, file },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let one_in = |n: u32| prop::bool::weighted(1.0 / f64::from(n));
    prop_oneof![
        4 => (bytes(), one_in(6), one_in(8))
            .prop_map(|(bytes, pinned, image)| Step::Says { bytes, pinned, image }),
        12 => (0..500usize, vec(answer(), 1..4), summary())
            .prop_map(|(says, results, summary)| Step::Turn { says, results, summary }),
        3 => bytes().prop_map(|bytes| Step::Ends { bytes }),
        1 => summary().prop_map(|summary| Step::TooLong { summary }),
        1 => summary().prop_map(|summary| Step::MediaTooLarge { summary }),
        1 => summary().prop_map(|summary| Step::Compact { summary }),
    ]
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let window = prop_oneof![WINDOW_MIN..8_000, 8_000..60_000u64];
    let levels = (option::weighted(0.5, 1..6u32), 20..=100u8, 0..6u32, 50..3_000usize, 20..=101u8);
    let results = (300..20_000usize, 50..4_000usize, 300..40_000usize);
    let others = (0..3_000usize, option::of(0..400usize), 0..2_000u64, 1..20_000u64);
    let switches = (prop::bool::weighted(0.9), prop::bool::weighted(0.9));
    (window, levels, results, others, switches).prop_map(
        |(window, levels, results, (system, context, summary, output), (auto, reactive))| {
            let mut all = build_settings(window, output);
            let (turns_kept, microcompact, recent, verbose, collapse) = levels;
            let levels = &mut all.context;
            (levels.turns_kept, levels.microcompact_percent) = (turns_kept, microcompact);
            (levels.recent_turns, levels.verbose_bytes) = (recent, verbose);
            (levels.collapse_percent, levels.summary_tokens) = (collapse, Tokens(summary));
            let (message, kept, tool) = results;
            (levels.message_result_bytes_max, levels.result_bytes_kept) = (message, kept);
            all.prompt.system_prompt = "You are careful. ".repeat(system / 17).into();
            all.prompt.user_context =
                context.map(|bytes| "Mind the gap. ".repeat(bytes / 14).into());
            all.tools = [ToolSpec {
                name: ToolName::from("Read"),
                description: "Reads.".into(),
                input_schema: Json::empty_object(),
                result_bytes_max: tool,
            }]
            .into();
            (all.limits.auto_compact, all.limits.reactive_compact) = (auto, reactive);
            all
        },
    )
}

pub(crate) fn script() -> impl Strategy<Value = Script> {
    (any_settings(), 40..300u64, vec(step(), 1..60)).prop_map(|(settings, rate, steps)| Script {
        settings,
        rate,
        steps,
    })
}
