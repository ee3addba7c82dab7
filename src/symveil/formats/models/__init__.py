"""Model files: each format is read into one of the models, and JSON is written.

Lives here: a module for each format, and the door that knows them by their endings (`model_files`).
May not live here: what a model means, or the words it has (languages).
"""
