//! Rewards that the network text schedules, by step. Rewards of the program are added to them.

use super::source::steps_of;
use crate::plan::spiking::{RewardPlan, SpikingNetworkPlan};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RewardSchedule {
    /// Sorted by step, each step once.
    given: Vec<(u64, f32)>,
    /// Interval in steps and value; none at step 0.
    repeated: Vec<(u64, f32)>,
}

impl RewardSchedule {
    pub fn build(plan: &SpikingNetworkPlan) -> Self {
        let dt = plan.dt_seconds;
        let mut schedule = Self::default();
        let mut given = Vec::new();
        for reward in &plan.spiking.rewards {
            match reward {
                RewardPlan::Times {
                    times_seconds,
                    values,
                } => {
                    let pairs = times_seconds.iter().zip(values);
                    given.extend(pairs.map(|(time, value)| ((time / dt).round() as u64, *value)));
                }
                RewardPlan::Every {
                    every_seconds,
                    value,
                } => schedule
                    .repeated
                    .push((steps_of(*every_seconds, dt), *value as f32)),
            }
        }
        given.sort_by_key(|(step, _)| *step);
        for (step, value) in given {
            match schedule.given.last_mut() {
                Some((last, sum)) if *last == step => *sum += value as f32,
                _ => schedule.given.push((step, value as f32)),
            }
        }
        schedule
    }

    /// What a step gives, together with what the program gave for it.
    pub fn at(&self, step: u64, of_program: Option<f32>) -> Option<f32> {
        let mut total = of_program;
        let mut add = |value: f32| total = Some(total.unwrap_or(0.0) + value);
        if let Ok(place) = self.given.binary_search_by_key(&step, |(step, _)| *step) {
            add(self.given[place].1);
        }
        for (every, value) in &self.repeated {
            if step > 0 && step.is_multiple_of(*every) {
                add(*value);
            }
        }
        total
    }

    /// Steps from `step` to the next one behind it that gives something.
    pub fn steps_until_next(&self, step: u64) -> u64 {
        let place = self.given.partition_point(|(given, _)| *given <= step);
        let listed = self.given.get(place).map(|(given, _)| given - step);
        let repeated = self.repeated.iter().map(|(every, _)| every - step % every);
        repeated.chain(listed).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> RewardSchedule {
        RewardSchedule {
            given: vec![(0, 1.0), (7, -2.0)],
            repeated: vec![(5, 0.5)],
        }
    }

    #[test]
    fn rewards_of_a_step_are_summed() {
        let schedule = schedule();
        assert_eq!(schedule.at(0, None), Some(1.0));
        assert_eq!(schedule.at(1, None), None);
        assert_eq!(schedule.at(5, Some(2.0)), Some(2.5));
        assert_eq!(schedule.at(7, Some(2.0)), Some(0.0));
        assert_eq!(schedule.at(10, None), Some(0.5));
    }

    #[test]
    fn the_next_reward_is_behind_the_step() {
        let schedule = schedule();
        assert_eq!(schedule.steps_until_next(0), 5);
        assert_eq!(schedule.steps_until_next(5), 2);
        assert_eq!(schedule.steps_until_next(7), 3);
        assert_eq!(RewardSchedule::default().steps_until_next(3), u64::MAX);
    }
}
