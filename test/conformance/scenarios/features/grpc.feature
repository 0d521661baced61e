Feature: Calls of gRPC services

  Scenario: A unary call whose types the server describes
    Given a workflow with definition:
    """yaml
    do:
      - place:
          call: grpc
          with:
            service: {name: shop.v1.Shop, host: grpc.test}
            method: Place
            arguments: {items: "${ .items }", note: soon}
          output: {as: "{count, total, largest, note}"}
    """
    And given the workflow input is:
    """yaml
    items: [{display_name: pen, price: 3}, {displayName: ink, price: "4"}]
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    count: 2
    total: "7"
    largest: LARGE
    note: soon
    """

  Scenario: The types of a .proto document with its imports
    Given a workflow with definition:
    """yaml
    do:
      - place:
          call: grpc
          with:
            proto: {endpoint: "https://service.test/files/protos/shop/v1/shop.proto"}
            service: {name: shop.v1.Shop, host: grpc.test, port: 443}
            method: Place
            arguments: {items: [{display_name: pen, price: 3}]}
          output: {as: .count}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    1
    """

  Scenario: A stream of answers is a list
    Given a workflow with definition:
    """yaml
    do:
      - follow:
          call: grpc
          with: {service: {name: shop.v1.Shop, host: grpc.test}, method: Follow, arguments: {count: 3}}
          output: {as: "map(.displayName)"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [item 1, item 2, item 3]
    """

  Scenario: A list of messages is a stream
    Given a workflow with definition:
    """yaml
    do:
      - collect:
          call: grpc
          with:
            service: {name: shop.v1.Shop, host: grpc.test}
            method: Collect
            arguments: "${ [range(5) | {price: .}] }"
          output: {as: .count}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    5
    """

  Scenario: Streams in both directions
    Given a workflow with definition:
    """yaml
    do:
      - echo:
          call: grpc
          with:
            service: {name: shop.v1.Shop, host: grpc.test}
            method: Echo
            arguments: [{displayName: a}, {displayName: b}]
          output: {as: "map(.displayName)"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    [a, b]
    """

  Scenario: A status of the service is an error that can be caught
    Given a workflow with definition:
    """yaml
    do:
      - careful:
          try:
            - refuse:
                call: grpc
                with: {service: {name: shop.v1.Shop, host: grpc.test}, method: Refuse, arguments: {}}
          catch:
            errors: {with: {type: "https://serverlessworkflow.io/spec/1.0.0/errors/communication"}}
            as: problem
            do: [{instead: {set: {status: "${ $problem.status }"}}}]
    """
    When the workflow is executed
    Then the workflow should complete
    And instead should run

  Scenario: Arguments that are not the method's message
    Given a workflow with definition:
    """yaml
    do:
      - place:
          call: grpc
          with: {service: {name: shop.v1.Shop, host: grpc.test}, method: Place, arguments: {price: much}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/validation
    status: 400
    """

  Scenario: A method that the service does not have
    Given a workflow with definition:
    """yaml
    do: [{place: {call: grpc, with: {service: {name: shop.v1.Shop, host: grpc.test}, method: Plaec}}}]
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/configuration
    """
