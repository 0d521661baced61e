Feature: Calls by AsyncAPI documents

  Scenario: Sending over HTTP has the content of the answer
    Given a workflow with definition:
    """yaml
    do:
      - tell:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            operation: tell
            server: {name: web, variables: {version: v2}}
            message: {payload: {user: "${ .user }", text: hello}, headers: {x-kind: note}}
          output: {as: "{method, path, body, kind: .headers[\"x-kind\"]}"}
    """
    And the file 'shop.asyncapi.yaml' is:
    """yaml
    asyncapi: 3.0.0
    servers:
      web:
        host: service.test
        pathname: /echo/{version}
        protocol: https
        variables: {version: {default: v1, enum: [v1, v2]}}
      feed: {host: service.test, pathname: /events, protocol: https}
      broker: {host: broker.test, protocol: mqtts}
    channels:
      mail: {address: "mail/{user}", parameters: {user: {location: "$message.payload#/user"}}}
      numbers:
        address: numbers
        servers: [{$ref: "#/servers/feed"}]
        messages: {number: {correlationId: {location: "$message.payload#/id"}}}
      retained: {address: "kept/{name}", servers: [{$ref: "#/servers/broker"}], parameters: {name: {}}}
    operations:
      tell: {action: receive, channel: {$ref: "#/channels/mail"}, bindings: {http: {method: PUT}}}
      count: {action: send, channel: {$ref: "#/channels/numbers"}}
    """
    And given the workflow input is:
    """yaml
    user: ada
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: PUT
    path: /echo/v2/mail/ada
    body: {user: ada, text: hello}
    kind: note
    """

  Scenario: A subscription for a number of messages
    Given a workflow with definition:
    """yaml
    do:
      - follow:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            operation: count
            subscription: {filter: "${ .payload.n > 1 }", consume: {amount: 2}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    - {payload: {n: 2, id: i2}, headers: {}, correlationId: i2}
    - {payload: {n: 3, id: i3}, headers: {}, correlationId: i3}
    """

  Scenario: A subscription while a condition holds
    Given a workflow with definition:
    """yaml
    do:
      - follow:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            channel: numbers
            subscription: {consume: {while: "${ length < 3 }"}}
          output: {as: "map(.payload.n)"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [1, 2, 3]
    """

  Scenario: A subscription until a condition holds, for some time at most
    Given a workflow with definition:
    """yaml
    do:
      - follow:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            channel: numbers
            subscription: {consume: {until: "${ any(.payload.n == 99) }", for: {milliseconds: 400}}}
          output: {as: length}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    5
    """

  Scenario: Tasks for each message
    Given a workflow with definition:
    """yaml
    do:
      - follow:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            channel: numbers
            subscription:
              consume: {amount: 3}
              foreach:
                item: number
                at: place
                do: [{label: {set: {text: "${ \"\\($place): \\($number.payload.n)\" }"}}}]
                output: {as: .text}
                export: {as: "$context + {last: .}"}
      - together: {set: {all: "${ . }", last: "${ $context.last }"}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    all: ["0: 1", "1: 2", "2: 3"]
    last: "2: 3"
    """

  Scenario: Any value of a parameter over MQTT
    Given a workflow with definition:
    """yaml
    do:
      - follow:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            channel: retained
            protocol: mqtt
            subscription: {consume: {amount: 2}}
          output: {as: "map(.payload) | sort"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [one, two]
    """

  Scenario: An operation that the document does not have
    Given a workflow with definition:
    """yaml
    do:
      - tell:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            operation: tel
            message: {payload: {}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration
    """

  Scenario: A protocol that cannot be called
    Given a workflow with definition:
    """yaml
    do:
      - tell:
          call: asyncapi
          with:
            document: {endpoint: "https://service.test/files/shop.asyncapi.yaml"}
            operation: tell
            protocol: pulsar
            message: {payload: {}}
    """
    Then the definition should be refused with 'unsupported_asyncapi_protocol' at '/do/0/tell/with/protocol'
