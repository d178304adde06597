//! The turn limit. Does not count anything itself: `turn` grows only in `next_turn`.

use crate::control::Control;
use crate::settings::Limits;

/// May another turn follow this one?
pub(crate) fn has_another(control: &Control, limits: &Limits) -> bool {
    control.turn < limits.turns_max
}
