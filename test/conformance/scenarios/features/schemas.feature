Feature: Schemas

  Scenario: An external schema of the input
    Given the file 'order.json' is:
    """yaml
    {type: object, required: [id], properties: {id: {type: integer}}}
    """
    And given a workflow with definition:
    """yaml
    input: {schema: {resource: {endpoint: "https://service.test/files/order.json"}}}
    do: [{a: {set: {id: "${ .id }"}}}]
    """
    And given the workflow input is:
    """yaml
    id: 7
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    id: 7
    """

  Scenario: An external schema of an output refuses what does not match
    Given a workflow with definition:
    """yaml
    do:
      - a: {set: {id: seven}, output: {schema: {resource: {endpoint: "https://service.test/files/order.json"}}}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/validation
    status: 400
    instance: /do/0/a
    """

  Scenario: An external schema that is none
    Given the file 'broken.json' is:
    """yaml
    {properties: {id: {type: nonsense}}}
    """
    And given a workflow with definition:
    """yaml
    input: {schema: {resource: {endpoint: "https://service.test/files/broken.json"}}}
    do: [{a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'json_schema' at '/input/schema/resource'

  Scenario: An external schema that is away
    Given a workflow with definition:
    """yaml
    input: {schema: {resource: {endpoint: "https://service.test/status/503"}}}
    do: [{a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'resource_refused' at '/input/schema/resource'

  Scenario: A schema of another format
    Given a workflow with definition:
    """yaml
    input: {schema: {format: avro, document: {}}}
    do: [{a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'unsupported_schema_format' at '/input/schema/format'

  Scenario: A schema of the exported context
    Given a workflow with definition:
    """yaml
    do:
      - a: {set: {n: 1}, export: {as: "{n: .n}", schema: {document: {required: [m]}}}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 400
    instance: /do/0/a
    """

  Scenario: A schema of the raw input of a task
    Given a workflow with definition:
    """yaml
    do:
      - a: {input: {schema: {document: {type: object, required: [x]}}, from: ".x"}, set: {got: "${ . }"}}
    """
    And given the workflow input is:
    """yaml
    x: 5
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    got: 5
    """
