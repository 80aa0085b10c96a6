//! The two networks that most experiments need, written out as hosts, routers and pipes.

use crate::{
    AccessDescription, ChainDescription, Description, DumbbellDescription, EmulateError,
    HostDescription, LinkDescription, PipeDescription,
};

impl Description {
    /// Two hosts with a link in each direction: pipes `up` (from the first) and `down`.
    pub fn bare_link(
        ends: [HostDescription; 2],
        up: LinkDescription,
        down: LinkDescription,
    ) -> Self {
        Self {
            chain: Some(ChainDescription { ends, up: vec![up], down: Some(vec![down]) }),
            ..Self::default()
        }
    }

    /// The same network without shorthands.
    ///
    /// # Errors
    /// [`EmulateError::BesideShorthand`] and [`EmulateError::BrokenChain`].
    ///
    /// ```
    /// use trustbed_emulate::Description;
    /// let text = r#"{"chain": {"ends": [{"name": "near", "addresses": ["10.0.0.1"]},
    ///                              {"name": "far", "addresses": ["10.0.0.2"]}],
    ///                "up": [{"delay_ns": 5000000}]}}"#;
    /// let network = serde_json::from_str::<Description>(text)?.written_out()?;
    /// let [up, down] = &network.pipes[..] else { panic!("two pipes") };
    /// assert_eq!([&up.name, &up.from, &up.to], ["up", "near", "far"]);
    /// assert_eq!([&down.name, &down.from, &down.to], ["down", "far", "near"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn written_out(&self) -> Result<Self, EmulateError> {
        let shorthand = match (&self.dumbbell, &self.chain) {
            (None, None) => return Ok(self.clone()),
            (Some(_), Some(_)) => {
                return Err(EmulateError::BesideShorthand {
                    shorthand: "dumbbell",
                    beside: "chain",
                });
            }
            (Some(_), None) => "dumbbell",
            (None, Some(_)) => "chain",
        };
        let beside = [
            ("hosts", self.hosts.is_empty()),
            ("routers", self.routers.is_empty()),
            ("pipes", self.pipes.is_empty()),
            ("routes", self.routes.is_empty()),
        ];
        if let Some((beside, _)) = beside.into_iter().find(|(_, empty)| !empty) {
            return Err(EmulateError::BesideShorthand { shorthand, beside });
        }
        let mut network = Self {
            outside: self.outside.clone(),
            limit_bytes_inside: self.limit_bytes_inside,
            ..Self::default()
        };
        if let Some(dumbbell) = &self.dumbbell {
            network.write_dumbbell(dumbbell);
        }
        if let Some(chain) = &self.chain {
            network.write_chain(chain)?;
        }
        Ok(network)
    }

    fn write_dumbbell(&mut self, dumbbell: &DumbbellDescription) {
        self.routers = vec!["left".to_owned(), "right".to_owned()];
        self.pipes.push(PipeDescription::new("up", "left", "right", dumbbell.up.clone()));
        self.pipes.push(PipeDescription::new("down", "right", "left", dumbbell.down.clone()));
        for (router, hosts) in [("left", &dumbbell.left), ("right", &dumbbell.right)] {
            for host in hosts {
                let mut host = host.clone();
                if let Some(access) = &mut host.access {
                    access.router.get_or_insert_with(|| router.to_owned());
                } else {
                    let name = &host.name;
                    self.pipes.push(PipeDescription::new(
                        format!("{name}.up"),
                        name,
                        router,
                        LinkDescription::default(),
                    ));
                    self.pipes.push(PipeDescription::new(
                        format!("{name}.down"),
                        router,
                        name,
                        LinkDescription::default(),
                    ));
                }
                self.hosts.push(host);
            }
        }
    }

    fn write_chain(&mut self, chain: &ChainDescription) -> Result<(), EmulateError> {
        let broken = |problem: String| Err(EmulateError::BrokenChain { problem });
        if chain.up.is_empty() {
            return broken("up holds no link; give at least one".to_owned());
        }
        let down = chain.down.clone().unwrap_or_else(|| chain.up.iter().rev().cloned().collect());
        if down.len() != chain.up.len() {
            return broken(format!(
                "{} links up and {} down do not join; give as many, or leave down away",
                chain.up.len(),
                down.len()
            ));
        }
        if let Some(host) = chain.ends.iter().find(|host| {
            host.access.as_ref().is_some_and(|access| *access != AccessDescription::default())
        }) {
            return broken(format!(
                "host {:?} has access pipes; give them as further links of the chain",
                host.name
            ));
        }
        let links = chain.up.len();
        self.routers = (1..links).map(|number| format!("r{number}")).collect();
        self.hosts = chain
            .ends
            .iter()
            .map(|host| HostDescription { access: None, ..host.clone() })
            .collect();
        let points: Vec<&str> = std::iter::once(self.hosts[0].name.as_str())
            .chain(self.routers.iter().map(String::as_str))
            .chain(std::iter::once(self.hosts[1].name.as_str()))
            .collect();
        let name = |direction: &str, number: usize| {
            if links == 1 { direction.to_owned() } else { format!("{direction}{}", number + 1) }
        };
        let pairs = || points.windows(2).map(|pair| (pair[0], pair[1]));
        let up = pairs().zip(&chain.up).enumerate().map(|(number, ((from, to), link))| {
            PipeDescription::new(name("up", number), from, to, link.clone())
        });
        let down = pairs().rev().zip(&down).enumerate().map(|(number, ((to, from), link))| {
            PipeDescription::new(name("down", number), from, to, link.clone())
        });
        self.pipes = up.chain(down).collect();
        Ok(())
    }
}
