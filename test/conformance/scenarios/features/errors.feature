Feature: Errors and timeouts

  Scenario: An error is caught by its status
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {raise: {error: {type: "https://service.test/e/x", status: 410, title: Gone}}}}]
          catch: {errors: {with: {status: 410}}, as: e, do: [{c: {set: {title: "${ $e.title }"}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    title: Gone
    """

  Scenario: Another error passes the catch
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {raise: {error: {type: "https://service.test/e/x", status: 410}}}}]
          catch: {errors: {with: {status: 404}}, do: [{c: {set: {ok: true}}}]}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://service.test/e/x
    status: 410
    """

  Scenario: Then of a catch goes on elsewhere
    Given a workflow with definition:
    """yaml
    do:
      - a: {try: [{b: {raise: {error: {type: "a:b", status: 400}}}}], catch: {then: last}}
      - skipped: {set: {at: skipped}}
      - last: {set: {at: last}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    at: last
    """
    And skipped should not run

  Scenario: ExceptWhen excludes an error
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {raise: {error: {type: "a:b", status: 400}}}}]
          catch: {exceptWhen: "$error.status == 400", do: [{c: {set: {ok: true}}}]}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 400
    """

  Scenario: A timeout by name
    Given a workflow with definition:
    """yaml
    use: {timeouts: {short: {after: {milliseconds: 100}}}}
    do: [{a: {wait: PT30S, timeout: short}}]
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout
    status: 408
    """

  Scenario: A timeout of the workflow
    Given a workflow with definition:
    """yaml
    timeout: {after: {milliseconds: 200}}
    do: [{a: {wait: PT30S}}]
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout
    instance: /timeout
    """

  Scenario: A timeout of a call is caught
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/slow"}, timeout: {after: {milliseconds: 200}}}}]
          catch: {errors: {with: {type: "https://serverlessworkflow.io/spec/1.0.0/errors/timeout"}}, do: [{c: {set: {late: true}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    late: true
    """

  Scenario: A status outside 200 to 299 is a communication error
    Given a workflow with definition:
    """yaml
    do: [{a: {call: http, with: {method: get, endpoint: "https://service.test/status/404"}}}]
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/communication
    status: 404
    instance: /do/0/a
    """

  Scenario: An error by name with expressions
    Given a workflow with definition:
    """yaml
    use: {errors: {soldOut: {type: "https://service.test/e/sold-out", status: 409, detail: "${ \"no \" + .item }"}}}
    do: [{a: {raise: {error: soldOut}}}]
    """
    And given the workflow input is:
    """yaml
    item: otter
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 409
    detail: no otter
    """
