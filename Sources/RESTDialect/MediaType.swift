/// What an answer can be made in, chosen from `Accept`.
package enum AnswerType: Sendable, Equatable {
  case json
  case array(stripped: Bool)
  case object(stripped: Bool)
  case csv
  case geojson
  case plan
}
