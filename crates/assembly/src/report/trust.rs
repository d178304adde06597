//! What in a project needs the user's trust, as text.

use windlass_permission::sanitize::escape_invisible;
use windlass_settings::{ProjectTrust, TrustState};

pub fn render_trust(trust: &ProjectTrust, is_accepted: bool) -> String {
    let root = trust.root.display();
    if trust.items.is_empty() {
        return format!("{root} contains nothing that needs trust\n");
    }
    let mut text = match (is_accepted, trust.state) {
        (true, _) => format!("Trusted: {root}, with exactly this:\n"),
        (false, TrustState::Given) => format!("{root} is trusted, with this:\n"),
        (false, TrustState::Changed) => {
            format!("{root} has changed since you trusted it. It now contains:\n")
        }
        (false, _) => format!("{root} is not trusted. It contains:\n"),
    };
    let mut last = "";
    for item in &trust.items {
        if item.name != last {
            text.push_str(&format!("\n{}\n", escape_invisible(&item.name)));
            last = &item.name;
        }
        // Not truncated: a user cannot consent to what is not shown.
        text.push_str(&format!("  {}: {}\n", item.key, escape_invisible(&item.value.to_string())));
    }
    for endpoint in &trust.endpoints {
        let state = match endpoint.is_accepted {
            true => "accepted".to_owned(),
            false => {
                format!("not applied; accept it with `windlass trust --endpoint {}`", endpoint.host)
            }
        };
        let line =
            format!("\n{} would send your key to {}: {state}\n", endpoint.variable, endpoint.host);
        text.push_str(&escape_invisible(line.trim_end()));
        text.push('\n');
    }
    text
}
