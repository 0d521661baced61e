Feature: Calls of MCP servers

  Scenario: A tool with its structured result
    Given a workflow with definition:
    """yaml
    do:
      - add:
          call: mcp
          with:
            method: tools/call
            parameters: {name: add, arguments: {a: "${ .a }", b: 2}}
            transport: {http: {endpoint: "https://tools.test/mcp"}}
          output: {as: .structuredContent}
    """
    And given the workflow input is:
    """yaml
    a: 40
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    sum: 42
    """

  Scenario: The lists of tools, prompts and resources
    Given a workflow with definition:
    """yaml
    do:
      - tools:
          call: mcp
          with: {method: tools/list, transport: {http: {endpoint: "https://tools.test/mcp"}}}
          export: {as: "{tools: [.tools[].name] | sort}"}
      - prompts:
          call: mcp
          with: {method: prompts/list, transport: {http: {endpoint: "https://tools.test/mcp"}}}
          export: {as: "$context + {prompts: [.prompts[].name]}"}
      - resources:
          call: mcp
          with: {method: resources/list, transport: {http: {endpoint: "https://tools.test/mcp"}}}
          output: {as: "$context + {resources: [.resources[].uri]}"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    tools: [add, echo, fail, large, wait]
    prompts: [greet]
    resources: ["doc://readme"]
    """

  Scenario: A prompt with its arguments
    Given a workflow with definition:
    """yaml
    do:
      - greet:
          call: mcp
          with:
            method: prompts/get
            parameters: {name: greet, arguments: {name: Ada}}
            transport: {http: {endpoint: "https://tools.test/mcp"}}
          output: {as: ".messages[0].content.text"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    Greet Ada
    """

  Scenario: A resource
    Given a workflow with definition:
    """yaml
    do:
      - read:
          call: mcp
          with:
            method: resources/read
            parameters: {uri: "doc://readme"}
            transport: {http: {endpoint: "https://tools.test/mcp"}}
          output: {as: ".contents[0].text"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    Read me
    """

  Scenario: A tool that fails has a result that says so
    Given a workflow with definition:
    """yaml
    do:
      - fail:
          call: mcp
          with:
            method: tools/call
            parameters: {name: fail, arguments: {}}
            transport: {http: {endpoint: "https://tools.test/mcp"}}
          output: {as: .isError}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    true
    """

  Scenario: A request that the server refuses
    Given a workflow with definition:
    """yaml
    do:
      - read:
          call: mcp
          with:
            method: resources/read
            parameters: {uri: "doc://nothing"}
            transport: {http: {endpoint: "https://tools.test/mcp"}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/runtime
    """

  Scenario: A tool that takes longer than the call may
    Given a workflow with definition:
    """yaml
    do:
      - wait:
          call: mcp
          with:
            method: tools/call
            parameters: {name: wait, arguments: {}}
            transport: {http: {endpoint: "https://tools.test/mcp"}}
            timeout: {milliseconds: 300}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout
    status: 408
    """

  Scenario: A program that the operator does not list
    Given a workflow with definition:
    """yaml
    do:
      - list:
          call: mcp
          with: {method: tools/list, transport: {stdio: {command: rm}}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/authorization
    """
