Feature: Flow, loops and branches

  Scenario: Exit leaves the inner list only
    Given a workflow with definition:
    """yaml
    do:
      - outer: {do: [{a: {set: {n: 1}, then: exit}}, {b: {set: {n: 2}}}]}
      - last: {set: {n: "${ .n }", last: true}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 1
    last: true
    """
    And b should not run

  Scenario: End ends the workflow from inside
    Given a workflow with definition:
    """yaml
    output: {as: "{ended: .n}"}
    do:
      - outer: {do: [{a: {set: {n: 1}, then: end}}]}
      - never: {set: {n: 2}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ended: 1
    """
    And never should not run

  Scenario: A loop by then
    Given a workflow with definition:
    """yaml
    do:
      - add: {set: {n: "${ (.n // 0) + 1 }"}}
      - enough: {switch: [{no: {when: ".n < 4", then: add}}, {yes: {then: end}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 4
    """

  Scenario: A for loop with while, position and item
    Given a workflow with definition:
    """yaml
    do:
      - sum:
          for: {each: price, in: ".prices", at: place}
          while: "$place < 2"
          do: [{add: {set: {sum: "${ (.sum // 0) + $price }", prices: "${ .prices }"}}}]
          output: {as: ".sum"}
    """
    And given the workflow input is:
    """yaml
    prices: [1, 2, 4]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    3
    """

  Scenario: A for loop over a list in the definition
    Given a workflow with definition:
    """yaml
    do:
      - each: {for: {in: [1, 2, 3]}, do: [{add: {set: {sum: "${ (.sum // 0) + $item }"}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    sum: 6
    """

  Scenario: A fork gives the outputs in the order of its branches
    Given a workflow with definition:
    """yaml
    do:
      - both: {fork: {branches: [{slow: {do: [{w: {wait: {milliseconds: 50}}}, {s: {set: {n: 1}}}]}}, {fast: {set: {n: 2}}}]}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - n: 1
    - n: 2
    """

  Scenario: The first of competing branches wins
    Given a workflow with definition:
    """yaml
    do:
      - race: {fork: {compete: true, branches: [{slow: {wait: {seconds: 30}}}, {fast: {set: {won: fast}}}]}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    won: fast
    """

  Scenario: A fault in a branch cancels the others
    Given a workflow with definition:
    """yaml
    do:
      - both: {fork: {branches: [{slow: {wait: {seconds: 30}}}, {bad: {raise: {error: {type: "a:b", status: 409}}}}]}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 409
    instance: /do/0/both/fork/branches/1/bad
    """

  Scenario: A switch without a match goes on
    Given a workflow with definition:
    """yaml
    do:
      - choose: {switch: [{no: {when: ".n > 5", then: end}}]}
      - next: {set: {went: next}}
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    went: next
    """

  Scenario: The default case wins only if no other does
    Given a workflow with definition:
    """yaml
    do:
      - choose: {switch: [{other: {then: third}}, {match: {when: ".n == 1", then: second}}]}
      - second: {set: {at: second}, then: end}
      - third: {set: {at: third}}
    """
    And given the workflow input is:
    """yaml
    n: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    at: second
    """

  Scenario: A target in another list is refused
    Given a workflow with definition:
    """yaml
    do: [{a: {do: [{b: {set: {ok: true}, then: c}}]}}, {c: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'then_target' at '/do/0/a/do/0/b/then'

  Scenario: An endless loop is refused
    Given a workflow with definition:
    """yaml
    do: [{a: {set: {ok: true}}}, {b: {set: {ok: true}, then: a}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'endless_loop' at '/do/1/b/then'

  Scenario: Two tasks of one name are refused
    Given a workflow with definition:
    """yaml
    do: [{a: {set: {ok: true}}}, {a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'duplicate_name' at '/do/1/a'
