Feature: Expressions

  Scenario: Loose mode evaluates texts of data
    Given a workflow with definition:
    """yaml
    evaluate: {mode: loose}
    do: [{a: {set: {name: .who, sum: "1 + 2", text: Hello there}}}]
    """
    And given the workflow input is:
    """yaml
    who: otter
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    name: otter
    sum: 3
    text: Hello there
    """

  Scenario: Loose mode keeps a text whose evaluation fails
    Given a workflow with definition:
    """yaml
    evaluate: {mode: loose}
    do: [{a: {set: {value: ".who | keys | .[0] | tonumber"}}}]
    """
    And given the workflow input is:
    """yaml
    who: otter
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    value: .who | keys | .[0] | tonumber
    """

  Scenario: Loose mode evaluates bodies of calls
    Given a workflow with definition:
    """yaml
    evaluate: {mode: loose}
    do: [{a: {call: http, with: {method: post, endpoint: "https://service.test/echo/x", body: {id: .id}}, output: {as: .body}}}]
    """
    And given the workflow input is:
    """yaml
    id: 3
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    id: 3
    """

  Scenario: Strict mode keeps texts
    Given a workflow with definition:
    """yaml
    do: [{a: {set: {name: .who}}}]
    """
    And given the workflow input is:
    """yaml
    who: otter
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    name: .who
    """

  Scenario: Another language is refused
    Given a workflow with definition:
    """yaml
    evaluate: {language: javascript}
    do: [{a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'unsupported_evaluate_language' at '/evaluate/language'

  Scenario: The first output counts, and none is null
    Given a workflow with definition:
    """yaml
    do: [{a: {set: {first: "${ 1, 2 }", none: "${ empty }"}}}]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    first: 1
    none: null
    """

  Scenario: An error of an expression can be caught
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {set: {c: "${ .x | error(\"no\") }"}}}]
          catch: {errors: {with: {type: "https://serverlessworkflow.io/spec/1.0.0/errors/expression"}}, do: [{c: {set: {caught: true}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    caught: true
    """

  Scenario: Descriptors of the workflow and the task
    Given a workflow with definition:
    """yaml
    document: {dsl: "1.0.3", namespace: scenarios, name: descriptors, version: "2.1.0"}
    do: [{a: {set: {name: "${ $workflow.definition.document.version }", task: "${ $task.reference }", raw: "${ $workflow.input.x }", runtime: "${ $runtime.name }"}}}]
    """
    And given the workflow input is:
    """yaml
    x: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    name: "2.1.0"
    task: /do/0/a
    raw: 1
    runtime: cadenza
    """
