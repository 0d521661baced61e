Feature: Calls and child workflows

  Scenario: The response of a call with its status and headers
    Given a workflow with definition:
    """yaml
    do: [{a: {call: http, with: {method: get, endpoint: "https://service.test/echo/x", output: response}, output: {as: "{status: .statusCode, path: .content.path}"}}}]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    status: 200
    path: /echo/x
    """

  Scenario: The raw content of a call
    Given a workflow with definition:
    """yaml
    do: [{a: {call: http, with: {method: get, endpoint: "https://service.test/status/200", output: raw}, output: {as: "@base64d | fromjson"}}}]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    status: 200
    """

  Scenario: Query, headers and a template of the address
    Given a workflow with definition:
    """yaml
    do:
      - a:
          call: http
          with: {method: get, endpoint: "https://service.test/echo/{id}", query: {q: "${ .q }"}, headers: {x-a: b}}
          output: {as: "{path: .path, q: .query.q, a: .headers[\"x-a\"]}"}
    """
    And given the workflow input is:
    """yaml
    id: 7
    q: otter
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    path: /echo/7
    q: otter
    a: b
    """

  Scenario: A function of the definition with its own output
    Given a workflow with definition:
    """yaml
    use: {functions: {double: {set: {n: "${ .n * 2 }"}, output: {as: .n}}}}
    do: [{a: {call: double, with: {n: "${ .n }"}}}]
    """
    And given the workflow input is:
    """yaml
    n: 4
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    8
    """

  Scenario: Emit returns the event
    Given a workflow with definition:
    """yaml
    do: [{a: {emit: {event: {with: {type: com.example.otter.v1, source: "https://service.test/otters", data: {n: 1}}}}, output: {as: "{type: .type, source: .source, data: .data}"}}}]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    type: com.example.otter.v1
    source: https://service.test/otters
    data: {n: 1}
    """

  Scenario: A child workflow that does not exist
    Given a workflow with definition:
    """yaml
    do: [{a: {run: {workflow: {namespace: nobody, name: nothing, version: latest}}}}]
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration
    instance: /do/0/a
    """

  Scenario: A child workflow by an expression that is no text
    Given a workflow with definition:
    """yaml
    do: [{a: {run: {workflow: {namespace: nobody, name: "${ .name }", version: latest}}}}]
    """
    And given the workflow input is:
    """yaml
    name: [1]
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/expression
    instance: /do/0/a
    """
