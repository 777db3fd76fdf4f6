//! A file with far more scenarios than anybody writes by hand, as an import may make it.

use crate::project::Files;
use crate::trials;
use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    trials![a_hundred_scenarios_in_one_file_are_all_listed,]
}

fn a_hundred_scenarios_in_one_file_are_all_listed() {
    let scenario = |number: usize| {
        format!(
            "#[scenario]\nfn visit_{number:03}() {{\n    #[step(get = \"/{number}\")]\n    fn start() -> Value;\n\n    \
             #[step(get = \"/{number}/{{{{start.response.id}}}}\")]\n    fn go_on();\n}}\n\n"
        )
    };
    let scenarios: String = (0..100).map(scenario).collect();
    let load = format!("use loadtest::prelude::*;\n\n{scenarios}loadtest::main!();\n");
    let output = Files::single("many", &load)
        .create()
        .tool("list", "--format json")
        .run()
        .exits(0);
    let listed: Value = serde_json::from_str(&output.stdout).expect("JSON and nothing else");
    let names: Vec<&str> = listed
        .as_array()
        .expect("a list of scenarios")
        .iter()
        .map(|scenario| scenario["name"].as_str().unwrap_or_default())
        .collect();
    let expected: Vec<String> = (0..100)
        .map(|number| format!("visit_{number:03}"))
        .collect();
    assert_eq!(names, expected);
}
