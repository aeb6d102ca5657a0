//! Whether a GPU sleeps, and whether it may be looked at without keeping it from falling asleep.
//!
//! Reading almost any file of a driver wakes a suspended card, and reading an idle one again and again keeps it awake: every read counts as
//! use. Files of the power management itself do neither, nor does the cached state of a connector. A card that the system may suspend, that
//! drives no screen and was idle for a while, is therefore left alone for longer than the system waits; then its state is looked at again.
//!
//! Source: `Documentation/power/runtime_pm.rst` and `Documentation/ABI/testing/sysfs-devices-power` of the Linux kernel.

use std::path::{Path, PathBuf};

use super::{Absence, tree};

/// A card that did nothing for so long is taken to be idle.
const IDLE_NS: u64 = 3_000_000_000;
/// What the system needs to suspend a card once the delay is over.
const FALLING_ASLEEP_NS: u64 = 2_000_000_000;
/// Delays past this are not waited for: such a card is meant to be awake.
const LONGEST_DELAY_MS: i64 = 60_000;

pub(super) const ASLEEP: Absence = Absence::new("the device is asleep; reading it would wake it");
pub(super) const RESTING: Absence =
    Absence::new("the idle device is left alone for some seconds, so that it can fall asleep");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Awake,
    Asleep,
    /// Awake, but not to be touched now.
    Resting,
}

/// How one learns whether the system suspends an idle device.
#[derive(Debug)]
pub(super) enum SleepRule {
    /// The delay that the driver set for its power management.
    Autosuspend {
        /// `status` files of its connectors.
        connectors: Vec<PathBuf>,
    },
    /// NVIDIA's driver has no delay: it says in this file whether it suspends a device that nobody has open.
    NobodyHasItOpen { file: PathBuf },
}

/// What a device takes to suspend once nobody has it open: six seconds were seen.
const CLOSED_DELAY_NS: u64 = 10_000_000_000;

#[derive(Debug)]
pub(super) struct PowerState {
    folder: PathBuf,
    rule: SleepRule,
    idle_since_ns: Option<u64>,
    rests_until_ns: u64,
}

impl PowerState {
    /// `folder` is that of the PCI device.
    pub(super) fn new(folder: PathBuf, rule: SleepRule) -> Self {
        Self {
            folder,
            rule,
            idle_since_ns: None,
            rests_until_ns: 0,
        }
    }

    /// To be asked before every other read.
    pub(super) fn state(&mut self, now_ns: u64) -> State {
        if is_asleep(&self.folder) {
            self.idle_since_ns = None;
            self.rests_until_ns = 0;
            State::Asleep
        } else if now_ns < self.rests_until_ns {
            State::Resting
        } else {
            State::Awake
        }
    }

    /// To be told after a read whether the device was busy.
    pub(super) fn saw(&mut self, is_busy: bool, now_ns: u64) {
        if is_busy {
            self.idle_since_ns = None;
            return;
        }
        let since_ns = *self.idle_since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) >= IDLE_NS
            && let Some(delay_ns) = self.delay_before_sleep_ns()
        {
            self.rests_until_ns = now_ns + delay_ns + FALLING_ASLEEP_NS;
        }
    }

    /// How long the system waits before it suspends the idle device; none if it does not.
    fn delay_before_sleep_ns(&self) -> Option<u64> {
        let says = |file: &str, word: &str| {
            tree::text(&self.folder.join(file)).is_ok_and(|text| text == word)
        };
        if !says("power/control", "auto") || !says("power/runtime_status", "active") {
            return None;
        }
        match &self.rule {
            SleepRule::Autosuspend { connectors } => {
                let delay_ms: i64 =
                    tree::number(&self.folder.join("power/autosuspend_delay_ms")).ok()?;
                let lights_a_screen = connectors.iter().any(|connector| {
                    tree::text(connector).is_ok_and(|status| status == "connected")
                });
                (!lights_a_screen && (0..=LONGEST_DELAY_MS).contains(&delay_ms))
                    .then(|| delay_ms as u64 * 1_000_000)
            }
            SleepRule::NobodyHasItOpen { file } => {
                let text = tree::text(file).ok()?;
                let mut lines = text.lines().filter_map(|line| line.split_once(':'));
                let (_, status) = lines.find(|(key, _)| key.trim() == "Runtime D3 status")?;
                status
                    .trim()
                    .starts_with("Enabled")
                    .then_some(CLOSED_DELAY_NS)
            }
        }
    }
}

/// Whether the PCI device of this folder is suspended, or on its way there or back. A device that does not say is awake.
pub(super) fn is_asleep(folder: &Path) -> bool {
    let says = |file: &str, words: &[&str]| {
        tree::text(&folder.join(file)).is_ok_and(|text| words.contains(&text.as_str()))
    };
    says(
        "power/runtime_status",
        &["suspended", "suspending", "resuming"],
    ) || says("power_state", &["D3hot", "D3cold"])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    struct Card(PathBuf);

    impl Card {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder =
                std::env::temp_dir().join(format!("amdgpu-power-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(folder.join("power")).unwrap();
            let card = Self(folder);
            for (file, content) in files {
                card.write(file, content);
            }
            card
        }

        fn write(&self, file: &str, content: &str) {
            fs::write(self.0.join(file), content).unwrap();
        }

        fn state(&self) -> PowerState {
            let connectors = vec![self.0.join("status")];
            PowerState::new(self.0.clone(), SleepRule::Autosuspend { connectors })
        }
    }

    impl Drop for Card {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MAY_SLEEP: [(&str, &str); 3] = [
        ("power/runtime_status", "active\n"),
        ("power/control", "auto\n"),
        ("power/autosuspend_delay_ms", "5000\n"),
    ];

    #[test]
    fn what_is_suspended_or_on_the_way_is_asleep() {
        let card = Card::new("states", &[]);
        assert!(!is_asleep(&card.0));
        for (status, asleep) in [
            ("active", false),
            ("suspended", true),
            ("suspending", true),
            ("resuming", true),
            ("unsupported", false),
            ("error", false),
            ("", false),
        ] {
            card.write("power/runtime_status", status);
            assert_eq!(is_asleep(&card.0), asleep, "{status}");
        }
        card.write("power_state", "D3cold\n");
        assert!(is_asleep(&card.0));
    }

    #[test]
    fn an_idle_card_is_left_alone_until_it_could_have_fallen_asleep() {
        let card = Card::new("idle", &MAY_SLEEP);
        let mut power = card.state();
        power.saw(false, 10 * SECOND);
        assert_eq!(power.state(12 * SECOND), State::Awake);
        power.saw(false, 13 * SECOND);
        assert_eq!(power.state(14 * SECOND), State::Resting);
        assert_eq!(power.state(19 * SECOND), State::Resting);
        // It stayed awake: one look, and if it is still idle it is left alone again.
        assert_eq!(power.state(20 * SECOND), State::Awake);
        power.saw(false, 20 * SECOND);
        assert_eq!(power.state(21 * SECOND), State::Resting);
        card.write("power/runtime_status", "suspended");
        assert_eq!(power.state(22 * SECOND), State::Asleep);
        card.write("power/runtime_status", "active");
        assert_eq!(power.state(23 * SECOND), State::Awake);
        power.saw(true, 23 * SECOND);
        assert_eq!(power.state(30 * SECOND), State::Awake);
    }

    #[test]
    fn nvidia_says_in_a_file_of_its_own_whether_it_suspends() {
        for (status, state) in [
            ("Enabled (fine-grained)", State::Resting),
            ("Disabled by default", State::Awake),
            ("Not supported", State::Awake),
        ] {
            let card = Card::new("closed", &MAY_SLEEP[..2]);
            card.write(
                "gpu",
                &format!("Runtime D3 status:          {status}\nVideo Memory:   Active\n"),
            );
            let rule = SleepRule::NobodyHasItOpen {
                file: card.0.join("gpu"),
            };
            let mut power = PowerState::new(card.0.clone(), rule);
            power.saw(false, 0);
            power.saw(false, 4 * SECOND);
            assert_eq!(power.state(15 * SECOND), state, "{status}");
            assert_eq!(power.state(17 * SECOND), State::Awake);
        }
    }

    #[test]
    fn a_card_that_never_sleeps_is_read_all_the_time() {
        for (file, content) in [
            ("power/control", "on"),
            ("status", "connected"),
            ("power/autosuspend_delay_ms", "-1"),
            ("power/autosuspend_delay_ms", "3600000"),
            ("power/runtime_status", "unsupported"),
        ] {
            let card = Card::new("awake", &MAY_SLEEP);
            card.write(file, content);
            let mut power = card.state();
            power.saw(false, 0);
            power.saw(false, 100 * SECOND);
            assert_eq!(power.state(101 * SECOND), State::Awake, "{file}");
        }
    }
}
