Feature: Data flow

  Scenario: The workflow transforms its input and output
    Given a workflow with definition:
    """yaml
    input: {from: ".order"}
    output: {as: "{total: .}"}
    do: [{a: {set: "${ [.items[].price] | add }"}}]
    """
    And given the workflow input is:
    """yaml
    order: {items: [{price: 2}, {price: 3}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    total: 5
    """

  Scenario: Export replaces the context
    Given a workflow with definition:
    """yaml
    do:
      - a: {set: {n: 1}, export: {as: "{a: .n}"}}
      - b: {set: {n: 2}, export: {as: "{b: .n}"}}
      - c: {set: "${ $context }"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    b: 2
    """

  Scenario: Branches export side by side
    Given a workflow with definition:
    """yaml
    do:
      - both: {fork: {branches: [{a: {set: {ok: true}, export: {as: "$context + {a: 1}"}}}, {b: {set: {ok: true}, export: {as: "$context + {b: 2}"}}}]}}
      - c: {set: "${ $context }"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    a: 1
    b: 2
    """

  Scenario: A skipped task passes its input on
    Given a workflow with definition:
    """yaml
    do: [{a: {if: "false", set: {n: 2}, then: end}}, {b: {set: {n: "${ .n }", b: true}}}]
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 1
    b: true
    """

  Scenario: Texts from data are not evaluated
    Given a workflow with definition:
    """yaml
    do: [{a: {set: {text: "${ .text }"}}}]
    """
    And given the workflow input is:
    """yaml
    text: "${ 1 + 1 }"
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    text: "${ 1 + 1 }"
    """

  Scenario: Objects as transformations
    Given a workflow with definition:
    """yaml
    do: [{a: {input: {from: {x: "${ .n }"}}, set: {got: "${ .x }"}, output: {as: {result: "${ .got }"}}}}]
    """
    And given the workflow input is:
    """yaml
    n: 9
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    result: 9
    """

  Scenario: The input of the workflow is checked
    Given a workflow with definition:
    """yaml
    input: {schema: {document: {required: [n]}}}
    do: [{a: {set: {ok: true}}}]
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ok: true
    """
