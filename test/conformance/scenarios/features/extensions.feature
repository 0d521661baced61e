Feature: Extensions

  Scenario: Tasks before and after do not change the data
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - audit:
            extend: set
            before:
              - begin: {set: {seen: before}}
            after:
              - finish: {set: {seen: after}}
    do:
      - work: {set: {value: "${ .value + 1 }"}}
    """
    And given the workflow input is:
    """yaml
    value: 1
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    value: 2
    """
    And begin should run after work
    And finish should run after begin

  Scenario: Exit in before replaces the work of the task
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - mock:
            extend: call
            before:
              - answer: {set: {mocked: true}, then: exit}
              - never: {set: {ok: true}}
    do:
      - ask: {call: http, with: {method: get, endpoint: "https://nowhere.test/"}, output: {as: ".mocked"}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    true
    """
    And never should not run
    And answer should run

  Scenario: Exit in after replaces the output of the task
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - shorten:
            extend: set
            after:
              - cut: {set: "${ .text[0:3] }", then: exit}
    do:
      - say: {set: {text: otters}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ott
    """

  Scenario: When decides by the task that is extended
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - only:
            extend: all
            when: $task.name == "second"
            after:
              - mark: {set: {marked: "${ $task.name }"}, then: exit}
    do:
      - first: {set: {a: 1}}
      - second: {set: {a: 2}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    marked: second
    """

  Scenario: When reads the parameters of a call
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - mock:
            extend: call
            when: ($task.with.endpoint | startswith("https://mocked.test"))
            before:
              - answer: {set: {mocked: true}, then: exit}
    do:
      - mocked: {call: http, with: {method: get, endpoint: "https://mocked.test/a"}, output: {as: ".mocked"}}
      - real: {call: http, with: {method: get, endpoint: "https://service.test/echo/b"}, output: {as: ".path"}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    /echo/b
    """

  Scenario: The task of an extension describes the extended one
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - log:
            extend: set
            before:
              - note: {set: {ref: "${ $task.reference }", mine: "${ .n }"}, export: {as: "{note: .}"}}
    do:
      - work: {set: {n: 2}, input: {from: "{n: 1}"}}
      - read: {wait: {milliseconds: 1}, output: {as: "$context.note"}}
    """
    And given the workflow input is:
    """yaml
    n: 0
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    ref: /do/0/work
    mine: 1
    """

  Scenario: The first extension is the outermost one
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - outer:
            extend: set
            before: [{outer1: {set: {ok: true}}}]
            after: [{outer2: {set: {ok: true}}}]
        - inner:
            extend: set
            before: [{inner1: {set: {ok: true}}}]
            after: [{inner2: {set: {ok: true}}}]
    do:
      - work: {set: {done: true}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    done: true
    """
    And inner1 should run after outer1
    And inner2 should run after inner1
    And outer2 should run after inner2

  Scenario: All extends every kind, and composite lists
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - count:
            extend: all
            before:
              - add: {set: {ok: true}, export: {as: "{n: (($context.n // 0) + 1)}"}}
    do:
      - group: {do: [{one: {set: {ok: true}}}, {two: {wait: {milliseconds: 1}}}]}
      - read: {set: {n: "${ $context.n }"}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 4
    """

  Scenario: A fault in before is the fault of the task
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - guard:
            extend: call
            before:
              - refuse: {raise: {error: {type: "https://service.test/errors/refused", status: 403, title: Refused}}}
    do:
      - attempt:
          try:
            - ask: {call: http, with: {method: get, endpoint: "https://service.test/echo/x"}}
          catch: {as: problem, do: [{tell: {set: {status: "${ $problem.status }", at: "${ $problem.instance }"}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    status: 403
    at: /use/extensions/0/guard/before/0/refuse
    """

  Scenario: The timeout of a task limits its extensions
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - slow:
            extend: set
            before: [{pause: {wait: {seconds: 30}}}]
    do:
      - work: {set: {ok: true}, timeout: {after: {milliseconds: 200}}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout
    status: 408
    instance: /do/0/work
    """

  Scenario: A skipped task is not extended
    Given a workflow with definition:
    """yaml
    use:
      extensions:
        - log: {extend: set, before: [{note: {set: {ok: true}}}]}
    do:
      - never: {if: ".go", set: {went: true}}
    """
    And given the workflow input is:
    """yaml
    go: false
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    go: false
    """
    And note should not run

  Scenario: A task of an unknown kind cannot be extended
    Given a workflow with definition:
    """yaml
    use: {extensions: [{log: {extend: http, before: []}}]}
    do: [{a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'not_allowed' at '/use/extensions/0/log/extend'
